import { countPoints } from './count-points.ts';
import { emptyPoints } from './empty-points.ts';
import { formPoints } from './form-points.ts';
import { namePoints } from './name-points.ts';
import { orderPoints } from './order-points.ts';
import type { CalibrationPoint } from './point.ts';
import { reportPoints } from './report-points.ts';

/**
 * The points that whole responses decide. Points that decide which rows there are and how numbers are written come before those that
 * depend on them.
 */
export const calibrationPoints: readonly CalibrationPoint[] = [
  ...namePoints,
  ...countPoints,
  ...formPoints,
  ...emptyPoints,
  ...reportPoints,
  ...orderPoints,
];
