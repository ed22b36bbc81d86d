// Publishes forever, with every file changed each time: `publisher-child.ts root target folder generation`.
import { openStorePlace, stage } from './publishing-places.ts';

const [root = '', target = '', folder = '', from = '1'] = process.argv.slice(3);
const place = await openStorePlace('child', { ...JSON.parse(target), findProxy: () => null }, folder);
for (let generation = Number(from); ; generation++) {
  const publisher = place.publisher();
  const contents = [0, 1, 2, 3].map((file) => `${file} of ${generation}`);
  await publisher.point(await publisher.put(await stage(root, generation, contents)));
  process.send?.(String(generation));
}
