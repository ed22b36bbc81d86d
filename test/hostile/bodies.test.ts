import { describeLies } from './attack.ts';
import { bodyLies } from './lies/bodies.ts';

describeLies({ bodies: bodyLies }, { brands: 2 });
