import { Counter, Gauge, type Registry } from 'prom-client';
import type { Observation } from '../../query/observer.ts';
import { dataMetrics } from './data-metrics.ts';
import { syncMetrics } from './sync-metrics.ts';

/** Registers a workspace's metrics and returns a function that sets them from an observation. */
export function addWorkspaceMetrics(registry: Registry): (observation: Observation) => void {
  const made = [...dataMetrics, ...syncMetrics].map(({ kind, name, help, labels = [], read }) => {
    const options = { name, help, labelNames: [...labels], registers: [registry] };
    return { metric: kind === 'counter' ? new Counter(options) : new Gauge(options), labels, read };
  });
  return (observation) => {
    for (const { metric, labels, read } of made) {
      metric.reset();
      // Metrics without a value are left out instead of reported as 0.
      if (labels.length === 0) metric.remove();
      for (const [value, labelled = {}] of read(observation)) {
        if (value === null || value === undefined) continue;
        if (metric instanceof Counter) metric.inc(labelled, value);
        else metric.set(labelled, value);
      }
    }
  };
}
