/** Environment of workspaces whose syncs ask no calibration questions: they are optional, take time, and have their own tests. */
export const NO_PROBES = { SIGHTLINE_CALIBRATION_PROBES: '0' } as const;
