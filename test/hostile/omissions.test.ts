import { describeLies } from './attack.ts';
import { furtherOmissionLies, omissionLies } from './lies/omissions.ts';

const isLong = process.env['LIES'] !== undefined;
const lies = isLong ? [...omissionLies, ...furtherOmissionLies] : omissionLies;
describeLies({ 'its lists and counts': lies }, { brands: 2, prompts: 12 });
