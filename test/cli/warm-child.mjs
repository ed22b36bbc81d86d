// Runs commands of the built command line one after another, with modules that are already loaded. Started by
// warm-process.ts, which sends each command and reads its output up to the end mark.
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';

const [main = '', mark = ''] = process.argv.slice(2);
const really = process.exit;
let commands = 0;
/** Ends the running command; null while none runs. */
let end = null;

// The command line calls `exit` as its last statement. A call before the end, after a second signal for example, must not return.
process.exit = (code) => {
  if (end === null) really(code);
  end(code ?? process.exitCode ?? 0);
};

process.on('disconnect', () => really(0));
process.on('message', async ({ args, cwd, env }) => {
  const listeners = listenersOf([process, process.stdout, process.stderr]);
  const idle = resources();
  const umask = process.umask();
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.argv = [process.argv[0], main, ...args];
  commands += 1;
  let exitCode = null;
  const own = (code) => {
    exitCode = code;
    // The import below resolves in the same turn if this was the last statement. The next command may have begun by then.
    setImmediate(() => end === own && really(code));
  };
  end = own;
  await import(`${pathToFileURL(main)}?${commands}`);
  end = null;
  process.umask(umask);
  restore(listeners);
  process.exitCode = undefined;
  process.stdout.write(mark);
  process.stderr.write(mark);
  await endChildren();
  // A command that leaves a socket, a timer or a child behind would disturb the next one.
  for (let turns = 0; turns < 10 && resources() > idle; turns += 1)
    await new Promise((resolve) => setImmediate(resolve));
  process.send({ exitCode, isClean: resources() <= idle });
});

// A child of a command ends when the command's process does, because its channel closes.
async function endChildren() {
  const children = process
    ._getActiveHandles()
    .filter((handle) => typeof handle.disconnect === 'function' && handle.connected);
  for (const child of children) {
    const exit = once(child, 'exit');
    child.disconnect();
    await exit;
  }
}

function resources() {
  return process.getActiveResourcesInfo().filter((name) => name !== 'Immediate' && name !== 'TickObject').length;
}

function listenersOf(emitters) {
  return emitters.map((emitter) => [
    emitter,
    new Map(emitter.eventNames().map((name) => [name, emitter.rawListeners(name)])),
  ]);
}

function restore(saved) {
  for (const [emitter, before] of saved) {
    for (const name of emitter.eventNames()) {
      for (const listener of emitter.rawListeners(name)) {
        if (!before.get(name)?.includes(listener)) emitter.removeListener(name, listener);
      }
    }
  }
}
