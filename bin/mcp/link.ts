/** The server's connection to the daemon: opens at the first tool call, and again after a restart. */
import { existsSync } from "node:fs";
import { KiteClient } from "../../client/client.ts";
import { NotRunning } from "../../client/errors.ts";
import { ensureDaemon } from "../../client/launch.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { daemonProgram } from "../program-paths.ts";

type Env = Readonly<Record<string, string | undefined>>;

export class Link {
  readonly #paths: KitePaths;
  readonly #env: Env;
  #shared: Promise<KiteClient> | null = null;

  constructor(paths: KitePaths, env: Env) {
    this.#paths = paths;
    this.#env = env;
  }

  /**
   * Returns the open connection that all calls share. It reconnects by itself; if that failed, this opens a new one. A
   * call waits for a daemon that announced its restart. If the daemon ended unannounced, the call starts one, or throws
   * `NotRunning` at once.
   */
  async client(): Promise<KiteClient> {
    for (;;) {
      const client = await (this.#shared ?? this.#share());
      const { absence } = client;
      if (absence === null) return client;
      if (absence === "gone" || existsSync(this.#paths.downFile)) (await this.#connect()).close();
      await client.comeBackNow();
    }
  }

  #share(): Promise<KiteClient> {
    const connecting = this.#connect();
    const forget = () => {
      if (this.#shared === connecting) this.#shared = null;
    };
    this.#shared = connecting;
    connecting.then(client => client.closed.then(forget), forget);
    return connecting;
  }

  /** Opens a connection for one request that may wait: closing it gives the queue position up. */
  async own(): Promise<KiteClient> {
    await this.client();
    return await this.#dial();
  }

  async close(): Promise<void> {
    const shared = await this.#shared?.catch(() => null);
    shared?.close();
  }

  async #connect(): Promise<KiteClient> {
    try {
      return await this.#dial();
    } catch (error) {
      if (!(error instanceof NotRunning)) throw error;
      const why = this.#mayNotStart();
      if (why !== null) throw new NotRunning(why);
    }
    const { client } = await ensureDaemon({ paths: this.#paths, daemonProgram, env: this.#env });
    client.close();
    return await this.#dial();
  }

  #dial(): Promise<KiteClient> {
    return KiteClient.connect({ paths: this.#paths, name: `kite-mcp-${process.pid}`, reconnect: true });
  }

  /** Returns why no daemon is started, for the same reasons as in hooks; null if one may start. */
  #mayNotStart(): string | null {
    if (existsSync(this.#paths.downFile)) return "`kite down` stopped it";
    const { CI = "", KITE_AUTOSTART } = this.#env;
    return ["", "false", "0"].includes(CI) || KITE_AUTOSTART === "1" ? null : "Kite starts none in CI";
  }
}
