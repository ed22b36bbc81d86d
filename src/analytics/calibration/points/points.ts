import { countPoints } from './count-points.ts';
import { emptyPoints } from './empty-points.ts';
import { orderPoints } from './order-points.ts';
import type { CalibrationPoint } from './point.ts';
import { reportPoints } from './report-points.ts';
import { requestPoints } from './request-points.ts';

/**
 * The points that whole responses decide. Points about requests come first, because the others depend on them, and points that decide
 * which rows there are come before those about their order.
 */
export const calibrationPoints: readonly CalibrationPoint[] = [
  ...requestPoints,
  ...countPoints,
  ...emptyPoints,
  ...reportPoints,
  ...orderPoints,
];
