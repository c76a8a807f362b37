import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** A terminal in which a person runs a command (by util-linux's `script`). */
export class Terminal {
  readonly #child: ChildProcess;
  #shown = "";
  #changed: () => void = () => {};

  constructor(command: string, cwd: string, env: Readonly<Record<string, string>>) {
    const line = `stty cols 120 rows 40; exec ${command}`;
    this.#child = spawn("script", ["-qfec", line, "/dev/null"], {
      cwd,
      env,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#shown += text;
      this.#changed();
    });
  }

  /** Resolves when the word has been on the screen. */
  async shows(word: string): Promise<void> {
    while (!this.#shown.includes(word)) {
      await new Promise<void>(resolve => {
        this.#changed = resolve;
      });
    }
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  /** Closes the terminal; what it showed goes on. */
  async close(): Promise<void> {
    const closed = once(this.#child, "close");
    this.#child.kill("SIGTERM");
    await closed;
  }
}
