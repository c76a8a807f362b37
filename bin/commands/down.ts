import type { Command } from "commander";
import type { KitePaths } from "../../protocol/paths.ts";

export function add(program: Command): void {
  program
    .command("down")
    .description("stop the daemon, and keep hooks from starting it until the next `kite up`")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExample:\n  $ kite down\n  kite stopped: pid 4711")
    .action(down);
}

async function down(options: { readonly json?: boolean }): Promise<void> {
  const { mkdirSync, writeFileSync } = await import("node:fs");
  const { kitePaths } = await import("../../protocol/paths.ts");
  const paths = kitePaths(process.env);
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  // First, or a hook could start the next daemon while this one leaves.
  writeFileSync(paths.downFile, "", { mode: 0o600 });
  const pid = await stop(paths);
  if (options.json) console.log(JSON.stringify({ stopped: pid !== null, pid }));
  else console.log(pid === null ? "kite was not running" : `kite stopped: pid ${pid}`);
}

/** The pid of the daemon that left, or null where none ran. Throws where it refuses or does not leave. */
async function stop(paths: KitePaths): Promise<number | null> {
  const { KiteClient } = await import("../../client/client.ts");
  const { ConnectionClosed, NotRunning } = await import("../../client/errors.ts");
  const { stopDaemon } = await import("../../client/stop.ts");
  try {
    const connect = () => KiteClient.connect({ paths, name: "kite down" });
    const client = await connect().catch(error => {
      // One that listened and left before it answered: then nobody listens now, or the next one does.
      if (error instanceof ConnectionClosed) return connect();
      throw error;
    });
    const { pid } = client.daemon;
    const refusal = await stopDaemon(client, false);
    if (refusal !== null) throw new ConnectionClosed(`the daemon (pid ${pid}) stays: ${refusal.error}`);
    return pid;
  } catch (error) {
    if (error instanceof NotRunning) return null;
    throw error;
  }
}
