/** `kite web` serves a page of what the daemon knows to a browser. */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { LocalError } from "../../client/errors.ts";
import { ensureDaemon } from "../../client/launch.ts";
import { readPersonToken } from "../../daemon/instance/socket.ts";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import { interrupted, type ProcessContext, print, printJson, type Run } from "../context/process-context.ts";
import { neededProgram } from "../context/programs.ts";
import { exitCodes, fail } from "../context/with-daemon.ts";
import type { Commands } from "../entry.ts";
import { daemonProgram } from "../version.ts";
import { clean } from "../view/text.ts";
import { answersOf, doDeed } from "./answers.ts";
import { PageServer, pageFiles, viewerOf } from "./http.ts";
import { Live } from "./live.ts";
import type { SnapshotFlags } from "./snapshot.ts";
import { bounds, type Viewer } from "./wire.ts";

// The file that leads a browser to the page: a program's arguments are for everybody to read, and the address has a code.

type Caller = Pick<ProcessContext, "env" | "cwd">;

class OpenedFile {
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

// `kite web`: a page of what the daemon knows.

interface WebFlags {
  readonly port?: string;
  readonly open?: boolean;
  readonly project?: string;
  readonly json?: boolean;
}

/** Serves the page until a person or the system ends this process. Returns the exit code. */
async function web(world: ProcessContext, flags: WebFlags, commands: Commands): Promise<number> {
  const json = flags.json === true;
  const port = flags.port === undefined ? 0 : portIn(flags.port);
  if (Number.isNaN(port)) return fail(world, json, "usage", `--port takes 0 to 65535, not ${flags.port}`);
  const { client } = await ensureDaemon({
    paths: world.paths,
    daemonProgram,
    env: world.env,
    name: "kite web",
  });
  client.close();
  // A new daemon has made the token by which Kite knows a person.
  const viewer = await viewerOf(world, flags.project);
  if (viewer === null)
    return fail(world, json, "usage", "an agent's page shows its project: run it inside one");
  const server = serverFor(world, viewer, commands);
  const until = interrupted();
  await listen(server, port);
  const opened = flags.open === true ? new OpenedFile(world.paths.home) : null;
  const stopKeys = world.keys?.(key => {
    if (key === "\u0003" || key === "q") process.kill(process.pid, "SIGINT");
    else if (key === "\r" || key === "\n") print(world, [server.address()]);
  });
  try {
    if (opened === null) tell(world, server.address(), server, json);
    else {
      const failed = () => print(world, ["no browser opened the page; open it yourself:", server.address()]);
      await opened.open(server.address(), world, json ? () => {} : failed);
      tell(world, `http://127.0.0.1:${server.port}/`, server, json);
    }
    await new Promise<void>(resolve => {
      if (until.aborted) resolve();
      until.addEventListener("abort", () => resolve(), { once: true });
    });
  } finally {
    stopKeys?.();
    opened?.remove();
    await server.close();
  }
  return exitCodes.done;
}

/** Returns the page's server, which does not listen yet. */
function serverFor(world: ProcessContext, viewer: Viewer, commands: Commands): PageServer {
  const onTrouble = (error: unknown) =>
    void world.stderr.write(`kite: the page: ${clean(errorText(error))}\n`);
  const person = viewer.isPerson ? readPersonToken(world.paths.personToken) : null;
  const connect = () =>
    world.connect({
      name: "kite web",
      reconnect: false,
      onlooker: true,
      ...(person === null ? {} : { person }),
    });
  const live = new Live(world, viewer, { connect, onTrouble });
  return new PageServer(
    {
      ...pageFiles(),
      live,
      answers: answersOf(world, viewer, commands),
      act: viewer.isPerson ? deed => doDeed(world, commands, deed) : null,
      onTrouble,
    },
    world.now,
  );
}

/** Says where the page is; opened in a browser it needs no code. */
function tell(world: ProcessContext, address: string, { port }: PageServer, json: boolean): void {
  if (json) printJson(world, { ok: true, address, port });
  else print(world, [address, hint(world)]);
}

function hint(world: ProcessContext): string {
  const keys = world.keys === undefined ? "" : "; Enter prints another one";
  return `an address works once, within ${bounds.codeMs / 1000} s${keys}; Ctrl-C ends the page`;
}

function portIn(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return port <= 65_535 ? port : Number.NaN;
}

/**
 * Listens on the port; 0: any. No port is Kite's own. A program that had it before could have left a service worker in
 * the person's browser, which sees all that a page of the same port does.
 */
async function listen(server: PageServer, port: number): Promise<void> {
  try {
    await server.listen(port);
  } catch (error) {
    if (!isSystemError(error) || error.code !== "EADDRINUSE") throw error;
    throw new PortTaken(port);
  }
}

class PortTaken extends LocalError {
  override readonly name = "PortTaken";

  constructor(port: number) {
    super(`another program has port ${port}; leave --port out, and Kite takes a free one`);
  }
}

const help = `
The page is for this machine alone. The address that web prints works once and within a minute; Enter prints another one, and
Ctrl-C ends the page. It shows who does what, who waits for whom, and what happened in the last hour, as it happens. A
person may release a lock, end a freeze, answer a message and change tasks there; each is the command of that name. An agent's
shell gets a page of its own project that changes nothing.

--snapshot writes what the page shows now to one file, and serves nothing: all views one below the other, without a program, an
image or an address that a browser would ask for. Home paths are written as ~. Texts of messages, values of context and titles of
sessions are left out, unless you say --full. It overwrites no file.

--json: {"ok":true, "address", "port"}, then web goes on; with --snapshot {"ok":true, "file", "bytes", "left":[what is left out]}.

Exit codes: 0 done, 1 failed, 3 no daemon runs (--snapshot).

Examples:
  $ kite web
  $ kite web --open
  $ kite web --snapshot kite.html`;

export function add(command: Command, run: Run, all: Commands): void {
  command
    .option("--port <n>", "the port on 127.0.0.1; by default any free one")
    .option("--open", "open the page in a browser")
    .option("--project <dir>", "show this project alone")
    .option("--snapshot <file>", "write what the page shows now to one HTML file")
    .option("--full", "with --snapshot: also texts of messages, shared values, titles of sessions")
    .option("--json", "print one JSON object when the page is there")
    .addHelpText("after", help)
    .action((flags: WebFlags & Partial<SnapshotFlags>) => run(world => served(world, flags, all)));
}

async function served(
  world: ProcessContext,
  flags: WebFlags & Partial<SnapshotFlags>,
  all: Commands,
): Promise<number> {
  const { snapshot: file, full, port, open, json = false } = flags;
  if (file === undefined) {
    if (full === true) return fail(world, json, "usage", "--full goes with --snapshot FILE");
    return web(world, flags, all);
  }
  if (port !== undefined || open === true)
    return fail(world, json, "usage", "--snapshot serves no page: leave --port and --open out");
  const { snapshot } = await import("./snapshot.ts");
  return snapshot(world, { ...flags, snapshot: file });
}
