import { countPoints } from './count-points.ts';
import { emptyPoints } from './empty-points.ts';
import { orderPoints } from './order-points.ts';
import type { CalibrationPoint } from './point.ts';
import { reportPoints } from './report-points.ts';

/**
 * The points that whole responses decide. Points that decide which rows there are come before those about their order.
 */
export const calibrationPoints: readonly CalibrationPoint[] = [
  ...countPoints,
  ...emptyPoints,
  ...reportPoints,
  ...orderPoints,
];
