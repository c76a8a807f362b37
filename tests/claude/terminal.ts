import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";

type Environment = Readonly<Record<string, string>>;

/** A terminal in which a person runs a command (by util-linux's `script`). */
export class Terminal {
  readonly #child: ChildProcess;
  #shown = "";
  #changed: () => void = () => {};

  constructor(command: string, cwd: string, env: Environment) {
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

/** Returns what a person sees of a command at a terminal of 80 columns; throws unless it exits with 0. */
export async function shownAtTerminal(command: string, cwd: string, env: Environment): Promise<string> {
  const words = ["-qfec", `stty cols 80 rows 24; exec ${command}`, "/dev/null"];
  const { stdout } = await promisify(execFile)("script", words, { cwd, env: { ...env, TERM: "xterm" } });
  return stdout.replaceAll("\r\n", "\n");
}
