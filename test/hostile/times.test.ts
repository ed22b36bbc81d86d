import { describeLies } from './attack.ts';
import { dateHeaderLies, itemTimeLies } from './lies/times.ts';

describeLies('the times of items', itemTimeLies);
describeLies('its clock', dateHeaderLies);
