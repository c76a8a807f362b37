/** The `kite notify` that begins and ends with the daemon, if the setting asks for it. It is a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { ConfigValues } from "../../daemon/config/config.ts";
import { dist } from "../program-paths.ts";
import type { Env } from "../programs.ts";

export interface NoticesOptions {
  readonly env: Env;
  readonly warn: (sentence: string) => void;
}

/** Keeps at most one running. It ends when its connection to the daemon does, however the daemon ends. */
export class Notices {
  readonly #options: NoticesOptions;
  #child: ChildProcess | null = null;

  constructor(options: NoticesOptions) {
    this.#options = options;
  }

  /** Begins or ends it as the settings say. One that ended by itself begins again only when the setting was off meanwhile. */
  follow({ notify }: Pick<ConfigValues, "notify">): void {
    if (notify.start !== true) {
      this.#child?.kill("SIGTERM");
      this.#child = null;
    } else this.#child ??= this.#begin();
  }

  #begin(): ChildProcess {
    const { env, warn } = this.#options;
    const child = spawn(process.execPath, [join(dist, "kite.cjs"), "notify", "--with-daemon"], {
      cwd: "/",
      env: { ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-500);
    });
    child.once("error", error => warn(`kite notify did not start: ${error.message}`));
    child.once("close", code => {
      if (code !== 0 && code !== null) warn(`kite notify ended with ${code}: ${said.trim()}`);
    });
    child.unref();
    return child;
  }
}
