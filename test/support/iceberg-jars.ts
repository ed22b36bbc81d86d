import type { MavenFiles } from '../interop/prepare.ts';

/** Iceberg's reference server of a REST catalog, and what it needs. */
export const CATALOG_FILES: MavenFiles = {
  'com.fasterxml.jackson.core:jackson-annotations:2.19.2':
    'e516743a316dcf83c572ffc9cb6e8c5e8c134880c8c5155b02f7b34e9c5dc3cf',
  'com.fasterxml.jackson.core:jackson-core:2.19.2': 'aa77eaf29293a868c47372194f7c5287d77d9370b04ea25d3fffc1e4904b5880',
  'com.fasterxml.jackson.core:jackson-databind:2.19.2':
    '0a1bd4e9b0d670e632d40ee8c625ad376233502f03c2f5889baea95d025b47a7',
  'com.github.ben-manes.caffeine:caffeine:2.9.3': '1e0a7bbef1dd791653143f3f05d0e489934bf5481e58a87c9e619cd46b68729b',
  'org.apache.avro:avro:1.12.0': '1f5fbfff9b7427d6832cc3031a3c81413d3e21d9e2551847d9231c28493f9492',
  'org.apache.hadoop:hadoop-client-api:3.4.2': '607c0299f4df33013bd0a0f37c8cf255c635bbaddd247b8fec68c210cc17d19f',
  'org.apache.hadoop:hadoop-client-runtime:3.4.2': '18d071c7f72f8a946677b398a57af9c7afa2dd41a81023c310f99373fec200b3',
  'org.apache.httpcomponents.core5:httpcore5:5.3.4': 'f2b2fd7a0164e8c3120cd8437bc9fea439239e165c17262b3e907daa7e979f80',
  'org.apache.iceberg:iceberg-api:1.10.1': '9c806b96f20882d1e5e7a4b9a8d7bc1fa32917b509af4e6d139afaa09a288396',
  'org.apache.iceberg:iceberg-bundled-guava:1.10.1': '05b79072e19071b1bcf7a4e382d624b3b2ccad6eaf79627676219bb48e4e834d',
  'org.apache.iceberg:iceberg-common:1.10.1': '167791c08975f299ebae6c508ea872b899673c33dc2911e4c265f95b96a656f1',
  'org.apache.iceberg:iceberg-core:1.10.1:tests': '8c18111a61ea40ba23114e10e33bacfceca6cf36d2c9a932d880e0100f14af1e',
  'org.apache.iceberg:iceberg-core:1.10.1': '5dc1472e3a393d9d5a713aedee7007cebdf62cabbe82c72feb6d3da8e50d7216',
  'org.apache.iceberg:iceberg-open-api:1.10.1:test-fixtures':
    'ec4dce1663933e3520227da8238a980d52b7eccac532c1953f337dc1e6ee597b',
  'org.eclipse.jetty:jetty-http:11.0.26': 'de738c8cfd5701627b5373c42376453beb8276f989d75e5258e3b1ffe217e938',
  'org.eclipse.jetty:jetty-io:11.0.26': 'ce0ef76071e361d97f102e5cb48928b3cc66ac899d12be3ef0af8d06b4f768a1',
  'org.eclipse.jetty:jetty-security:11.0.26': '1f0a1b58304741f243e2f6ac694e6506b1e26bb079cfc2baaa3f2a6ed4bf2d9f',
  'org.eclipse.jetty:jetty-server:11.0.26': '3cc3b203b96c7115151ea94cad8af43c0914bfb6fe20cf2ca8378ec6822fa471',
  'org.eclipse.jetty:jetty-servlet:11.0.26': 'c09469f1045f9e207732692b3bc56e8fe4d0599de52d3bd593927c4a9060e679',
  'org.eclipse.jetty:jetty-util:11.0.26': '1b61b875a6d40e8fd44cffb307bdb66f3459370a152a50a092a698c3737eeca9',
  'org.eclipse.jetty.toolchain:jetty-jakarta-servlet-api:5.0.2':
    'efb20997729f32bfa6c8a8319037c353f7ad460d5d49f336bf232998ea2358db',
  'org.slf4j:slf4j-api:2.0.17': '7b751d952061954d5abfed7181c1f645d336091b679891591d63329c622eb832',
  'org.xerial.snappy:snappy-java:1.1.10.4': '55b30c94e5c4cc2d4b6976916098d0678a8a6cc7427fa8c875621bd94e731ac8',
  'org.xerial:sqlite-jdbc:3.51.1.0': '29eda0d1e5ab235b0f1baad05c531106c59c4a72c92a51a4b9c1a4e4c84abffe',
};
