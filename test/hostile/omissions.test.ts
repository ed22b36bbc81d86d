import { describeLies } from './attack.ts';
import { omissionLies } from './lies/omissions.ts';

describeLies('what its lists lack', omissionLies, { prompts: 12 });
