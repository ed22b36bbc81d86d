import { describeLies } from './attack.ts';
import { headerLies } from './lies/headers.ts';

describeLies({ 'headers and statuses': headerLies });
