import { formPoints } from './form-points.ts';
import { namePoints } from './name-points.ts';
import type { CalibrationPoint } from './point.ts';
import { countPoints, rowPoints } from './row-points.ts';

/**
 * The points that whole responses decide. Points that decide which rows there are and how numbers are written come before those that
 * depend on them.
 */
export const calibrationPoints: readonly CalibrationPoint[] = [
  ...namePoints,
  ...countPoints,
  ...formPoints,
  ...rowPoints,
];
