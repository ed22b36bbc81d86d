import { describeLies } from './attack.ts';
import { furtherOmissionLies, omissionLies } from './lies/omissions.ts';

const isLong = process.env['LIES'] !== undefined;
describeLies('its lists and counts', isLong ? [...omissionLies, ...furtherOmissionLies] : omissionLies, {
  brands: 2,
  prompts: 12,
});
