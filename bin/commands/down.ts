import type { Command } from "commander";
import type { KitePaths } from "../../protocol/paths.ts";

export function add(program: Command): void {
  program
    .command("down")
    .description("stop the daemon, and keep hooks from starting it until the next `kite up`")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(down);
}

const help = `
An agent's shell cannot: other sessions would lose their locks. To get out of Kite's way it has kite off --session NAME.

Exit codes: 0 done, 1 refused or failed.

Example:
  $ kite down
  kite stopped: pid 4711`;

async function down(options: { readonly json?: boolean }): Promise<void> {
  const { isAgents, refuseAgent } = await import("../person.ts");
  const { processWorld } = await import("../process-context.ts");
  const world = processWorld();
  if (await isAgents(world)) {
    process.exitCode = refuseAgent(world, options.json === true, "stops Kite's daemon for everybody");
    return;
  }
  const { mkdirSync, writeFileSync } = await import("node:fs");
  const { kitePaths } = await import("../../protocol/paths.ts");
  const paths = kitePaths(process.env);
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  // Before the daemon stops: else a hook could start the next one meanwhile.
  writeFileSync(paths.downFile, "", { mode: 0o600 });
  const pid = await stop(paths);
  if (options.json) console.log(JSON.stringify({ stopped: pid !== null, pid }));
  else console.log(pid === null ? "kite was not running" : `kite stopped: pid ${pid}`);
}

/** Returns the pid of the stopped daemon, null if none ran. Throws if the daemon refuses or does not exit. */
async function stop(paths: KitePaths): Promise<number | null> {
  const { KiteClient } = await import("../../client/client.ts");
  const { ConnectionClosed, NotRunning } = await import("../../client/errors.ts");
  const { stopDaemon } = await import("../../client/stop.ts");
  try {
    const connect = () => KiteClient.connect({ paths, name: "kite down" });
    const client = await connect().catch(error => {
      // The daemon listened and exited before it answered: now no daemon listens, or the next one does.
      if (error instanceof ConnectionClosed) return connect();
      throw error;
    });
    const { pid } = client.daemon;
    const refusal = await stopDaemon(client, false);
    if (refusal !== null)
      throw new ConnectionClosed(`the daemon (pid ${pid}) did not stop: ${refusal.error}`);
    return pid;
  } catch (error) {
    if (error instanceof NotRunning) return null;
    throw error;
  }
}
