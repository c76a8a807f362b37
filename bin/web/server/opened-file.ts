/** The file that leads a browser to the page: a program's arguments are for everybody to read, and the address has a code. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessContext } from "../../process-context.ts";
import { neededProgram } from "../../programs.ts";
import { bounds } from "../bounds.ts";

type Caller = Pick<ProcessContext, "env" | "cwd">;

export class OpenedFile {
  readonly #path: string;
  #timer: NodeJS.Timeout | null = null;

  constructor(home: string) {
    removeLeft(home);
    this.#path = join(home, `page-${randomBytes(12).toString("base64url")}.html`);
  }

  /**
   * Writes the file and opens it with the system's own program. Throws `ProgramFailed` if there is none; calls `failed` if it
   * ends and says that it opened nothing.
   */
  async open(address: string, { env, cwd }: Caller, failed: () => void): Promise<void> {
    const program = neededProgram(process.platform === "darwin" ? "open" : "xdg-open", env, cwd);
    const text = `<!doctype html><meta charset="utf-8"><title>…</title><meta http-equiv="refresh" content="0; url=${address}">\n`;
    writeFileSync(this.#path, text, { mode: 0o600, flag: "wx" });
    // The code in it is used up, or too old by then.
    this.#timer = setTimeout(() => this.remove(), bounds.codeMs);
    const child = spawn(program, [this.#path], { stdio: "ignore", detached: true, env: { ...env } });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    child.once("exit", code => {
      if (code !== 0) failed();
    });
    child.unref();
  }

  remove(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    rmSync(this.#path, { force: true });
  }
}

/** Removes what a process that was killed left: the codes in it are too old. */
function removeLeft(home: string): void {
  for (const name of readdirSync(home)) {
    if (!/^page-[\w-]{16}\.html$/.test(name)) continue;
    const path = join(home, name);
    const atMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - atMs > bounds.codeMs) rmSync(path, { force: true });
  }
}
