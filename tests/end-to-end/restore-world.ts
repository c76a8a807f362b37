/** Commands of `kite` against the daemon of a `RescueWorld`, and wipes as the store has them. */
import type { Client } from "./daemon.ts";
import { kite, type Ran, startKite } from "./kite.ts";
import { RescueWorld } from "./rescue-world.ts";

export class RestoreWorld extends RescueWorld {
  /** What a command of a person has, or with `session` one in the shell of its agent. */
  env(session?: string): Record<string, string> {
    const own = session === undefined ? {} : { KITE_SESSION: session };
    return { ...this.environment, KITE_HOME: this.paths.home, ...own };
  }

  /** Runs a command in a directory: a person's, or that of an agent. */
  kite(dir: string, args: readonly string[], session?: string): Promise<Ran> {
    return kite({ cwd: dir, env: this.env(session) }, args);
  }

  /** The JSON that a command prints. */
  async json(dir: string, args: readonly string[], session?: string): Promise<Record<string, unknown>> {
    const { out } = await this.kite(dir, [...args, "--json"], session);
    return JSON.parse(out) as Record<string, unknown>;
  }

  startKite(dir: string, args: readonly string[], session?: string) {
    return startKite({ cwd: dir, env: this.env(session) }, args);
  }

  /** The same, and the agent's turn is over: it has no lock. */
  override async write(session: string, dir: string, file: string, text: string): Promise<void> {
    await super.write(session, dir, file, text);
    await this.event(session, dir, { hook_event_name: "Stop" });
  }

  /** A session of the wire, as an agent's process has one. */
  async agent(id: string, dir: string): Promise<Client> {
    const client = await this.client();
    await client.ask({ type: "register", id, cwd: dir });
    return client;
  }

  /** A script that another agent runs does something to the files. Returns the id of the wipe that Kite notes. */
  async wipe(dir: string, does: () => void): Promise<string> {
    const bob = "r-bob";
    await this.event(bob, dir, { hook_event_name: "SessionStart", source: "startup" });
    await this.line(bob, dir, "python3 wipe.py", does);
    await this.event(bob, dir, { hook_event_name: "Stop" });
    const [latest] = await this.wipes({ file: dir });
    if (latest === undefined) throw new Error("no wipe was noted");
    return latest.wipe;
  }
}
