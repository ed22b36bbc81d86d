import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { declaredJobs } from '../../jobs/all.ts';
import { declarations } from '../../schemas/catalogue.ts';
import { SightlineError } from '../../src/base/errors.ts';
import { toJobs } from '../../src/jobs/job-settings.ts';
import { defineJob, type Job } from '../../src/jobs/job.ts';

const resources = declarations.map(({ name }) => name);

function jobsOf(settings: Record<string, unknown>): Map<string, Job> {
  return new Map(toJobs(declaredJobs, settings, resources).map((job) => [job.name, job]));
}

describe('jobs from declarations and settings', () => {
  it('are by default the declared ones, in UTC and with known resources', () => {
    const jobs = jobsOf({});
    expect([...jobs.keys()].slice(0, 4)).toEqual(['nightly', 'hourly', 'weekly-audit', 'report']);
    const files = readdirSync(join(import.meta.dirname, '../../jobs')).filter((file) => file !== 'all.ts');
    expect([...jobs.keys()].sort()).toEqual(files.map((file) => file.slice(0, -'.ts'.length)).sort());
    for (const job of jobs.values()) {
      expect(job).toMatchObject({ timeZone: 'UTC', enabled: true });
      for (const step of job.steps)
        if (step.do === 'sync') expect(resources).toEqual(expect.arrayContaining([...(step.only ?? [])]));
    }
  });

  it('can be changed and added by the settings', () => {
    const jobs = jobsOf({
      nightly: { cron: '0 1 * * *', timeZone: 'Europe/Berlin', allowance: { maxRequests: 50 } },
      hourly: { enabled: false },
      mine: { cron: '0 12 * * 1-5', steps: ['export', { do: 'verify', fresh: true, onFailure: 'go on' }] },
      audit: { cron: '0 1 * * 0', steps: [{ do: 'compare', requests: 80 }] },
    });
    expect(jobs.get('nightly')).toMatchObject({ timeZone: 'Europe/Berlin', cron: { text: '0 1 * * *' } });
    expect(jobs.get('nightly')?.steps).toMatchObject([{ do: 'sync', allowance: { maxRequests: 50 } }, {}, {}]);
    expect(jobs.get('hourly')?.enabled).toBe(false);
    expect(jobs.get('mine')?.steps).toEqual([{ do: 'export' }, { do: 'verify', fresh: true, onFailure: 'go on' }]);
    expect(jobs.get('audit')?.steps).toEqual([{ do: 'compare', requests: 80 }]);
  });

  it.each([
    [{ nightly: 1 }, 'jobs.nightly is 1'],
    [{ nightly: { steps: [{ do: 'export', output: 'o/%q' }] } }, 'jobs.nightly.steps.0.output "o/%q" contains "%q"'],
    [{ nightly: { steps: [{ do: 'export', format: 'csv' }] } }, 'jobs.nightly.steps.0.output is not set'],
    [{ nightly: { steps: [{ do: 'export', output: 'o', name: 'n' }] } }, 'jobs.nightly.steps.0.since is not set'],
    [{ nightly: { steps: [{ do: 'export', output: 'o', since: 'now' }] } }, 'jobs.nightly.steps.0.since is "now"'],
    [{ nightly: { steps: [{ do: 'export', output: 'o', format: 'xls' }] } }, 'jobs.nightly.steps.0.format is "xls"'],
    [{ nightly: { crn: 'x' } }, 'jobs.nightly has an unknown setting "crn"'],
    [{ nightly: { cron: '61 * * * *' } }, 'jobs.nightly.cron is "61 * * * *"'],
    [{ nightly: { cron: 5 } }, 'jobs.nightly.cron is 5'],
    [{ nightly: { timeZone: 'Berlin' } }, 'jobs.nightly.timeZone is "Berlin"'],
    [{ nightly: { enabled: 'no' } }, 'jobs.nightly.enabled is "no"'],
    [{ nightly: { allowance: {} } }, 'jobs.nightly.allowance is empty'],
    [{ nightly: { allowance: { maxPages: 1 } } }, 'jobs.nightly.allowance has an unknown setting "maxPages"'],
    [
      { nightly: { steps: [{ do: 'sync', allowance: { maxPages: 1 } }] } },
      'jobs.nightly.steps.0.allowance has an unknown setting "maxPages"',
    ],
    [{ nightly: { allowance: { maxRequests: 0 } } }, 'jobs.nightly.allowance.maxRequests is 0'],
    [{ mine: { cron: '* * * * *' } }, 'jobs.mine.steps is not set'],
    [{ mine: { steps: ['sync'] } }, 'jobs.mine.cron is not set'],
    [{ mine: { cron: '* * * * *', steps: [] } }, 'jobs.mine.steps is []'],
    [{ mine: { cron: '* * * * *', steps: ['sink'] } }, 'jobs.mine.steps.0 is "sink"'],
    [
      { mine: { cron: '* * * * *', steps: [{ do: 'compare', requests: 9_999 }] } },
      'jobs.mine.steps.0.requests is 9999',
    ],
    [{ mine: { cron: '* * * * *', steps: [{}] } }, 'jobs.mine.steps.0.do is not set'],
    [{ mine: { cron: '* * * * *', steps: [{ do: 'sync', only: ['x'] }] } }, 'jobs.mine.steps.0.only is ["x"]'],
    [
      { mine: { cron: '* * * * *', steps: [{ do: 'export', full: true }] } },
      'jobs.mine.steps.0 has an unknown setting',
    ],
    [{ mine: { cron: '* * * * *', steps: [{ do: 'sync', onFailure: 'x' }] } }, 'jobs.mine.steps.0.onFailure is "x"'],
    [{ 'My Job': {} }, 'jobs has the name "My Job"'],
  ])('are rejected with the invalid setting and the allowed values: %j', (settings, said) => {
    try {
      jobsOf(settings);
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(SightlineError);
      expect(thrown).toMatchObject({ code: 'config_invalid' });
      expect((thrown as Error).message).toContain(said);
      expect((thrown as Error).message).toContain('; allowed: ');
      return;
    }
    throw new Error('the settings were not rejected');
  });

  it('cannot be declared with an invalid cron expression, an unknown zone or no steps', () => {
    const job = { name: 'x', about: 'x', cron: '0 0 * * *', steps: [{ do: 'sync' }] } as const;
    expect(() => defineJob({ ...job, cron: '0 0 31 4 *' })).toThrow('job x: cron');
    expect(() => defineJob({ ...job, timeZone: 'Mars/Olympus' })).toThrow('Mars/Olympus');
    expect(() => defineJob({ ...job, steps: [] })).toThrow('steps is empty');
  });
});
