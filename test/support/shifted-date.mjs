// Shifts `Date`: by TEST_SHIFT_MS, or so that this process starts at the time of day in TEST_CLOCK (UTC), such as 23:59:30.
// Timers, monotonic time, the times of files and DuckDB's clock do not change.
const { TEST_CLOCK, TEST_SHIFT_MS } = process.env;
const Real = Date;
const shiftMs = TEST_SHIFT_MS === undefined ? shiftTo(TEST_CLOCK) : Number(TEST_SHIFT_MS);
const now = () => Real.now() + shiftMs;
// For the commands that a test starts.
process.env.TEST_SHIFT_MS = String(shiftMs);

globalThis.Date = new Proxy(Real, {
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

function shiftTo(timeOfDay) {
  const start = Real.parse(`${new Real().toISOString().slice(0, 10)}T${timeOfDay}Z`);
  if (Number.isNaN(start)) throw new Error(`TEST_CLOCK is ${timeOfDay}; allowed: a time of day such as 23:59:30`);
  return start - Real.now();
}
