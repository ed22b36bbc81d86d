import { describeLies } from './attack.ts';
import { sampleLies } from './lies/sample.ts';

describeLies('nothing in particular', sampleLies);
