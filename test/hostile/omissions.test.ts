import { describeLies } from './attack.ts';
import { furtherOmissionLies, omissionLies } from './lies/omissions.ts';

describeLies({ 'its lists and counts': [...omissionLies, ...furtherOmissionLies] }, { brands: 2, prompts: 12 });
