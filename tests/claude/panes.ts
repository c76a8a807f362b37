import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { prepareHome } from "./interactive.ts";
import { ScriptedModel } from "./model.ts";
import { environment, type SessionOptions } from "./session.ts";

/** Whether this machine has tmux; without it there are no panes to test. */
export function hasTmux(): boolean {
  try {
    execFileSync("tmux", ["-V"], { stdio: "ignore" });
    return true;
  } catch {
    // It is not installed.
    return false;
  }
}

/** A lead of the real client in a tmux server of its own; each teammate gets a pane and a process. */
export class PaneTeam {
  readonly id = randomUUID();
  readonly model: ScriptedModel;
  readonly #socket: string;
  readonly #env: Readonly<Record<string, string>>;

  static async start(options: SessionOptions): Promise<PaneTeam> {
    const { script, mates, aside } = options;
    return new PaneTeam(options, await ScriptedModel.start(script, mates, aside));
  }

  private constructor({ program, folder, cwd, env = {} }: SessionOptions, model: ScriptedModel) {
    this.model = model;
    this.#socket = join(folder, "tmux");
    this.#env = { ...environment(folder, model.url), TERM: "xterm", ...env };
    prepareHome(folder, cwd, {});
    const words = [program, "--session-id", this.id, "--permission-mode", "acceptEdits"];
    const line = [...words, "--teammate-mode", "tmux", "Do it."].map(word => `'${word}'`).join(" ");
    this.#tmux("-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "50", "-c", cwd, `exec ${line}`);
  }

  /** What all panes show, for a test that failed. */
  screen(): string {
    const panes = this.#tmux("list-panes", "-a", "-F", "#{pane_id}").trim().split("\n");
    return panes.map(pane => this.#tmux("capture-pane", "-p", "-t", pane)).join("\n----\n");
  }

  /** Ends the server with all of its panes, and the model. Harmless when it is over. */
  async dispose(): Promise<void> {
    try {
      this.#tmux("kill-server");
    } catch {
      // The last pane has ended, and the server with it.
    }
    await this.model.close();
  }

  #tmux(...words: readonly string[]): string {
    return execFileSync("tmux", ["-S", this.#socket, ...words], {
      env: this.#env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  }
}
