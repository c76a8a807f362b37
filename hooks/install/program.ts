/** Installs the hook clients and the launcher in Kite's `bin` folder. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { errorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { type KitePaths, searchPath } from "../../protocol/paths.ts";
import { shellWord } from "../../protocol/text.ts";
import { InstallFailed, isCode, readIfAny, writeWhole } from "./file.ts";
import { type HookProgram, perlCommand } from "./hooks-text.ts";

// The programs in Kite's `bin` folder that start the daemon and the tools.

/**
 * The launcher: the program that a hook client runs if a session or turn begins and no daemon listens. It ends when a
 * daemon answers. It lies beside the clients and contains the environment that a daemon needs. So no variable of the
 * hook (keys, the session's own) reaches the daemon. It runs `kite up`, which starts one daemon even if many launchers
 * run.
 */
interface LauncherOptions {
  readonly home: string;
  /** The Node that runs the daemon: the link beside the clients. */
  readonly node: string;
  /** Kite's own program. If it was moved, the launcher starts nothing. */
  readonly kite: string;
  /** Environment of the installing process. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The variables of client/launch.ts without Kite's own, because one shell's settings must not apply to every hook. */
const inherited = "PATH HOME USER LOGNAME SHELL LANG TZ TMPDIR XDG_RUNTIME_DIR".split(" ");

export function launcherPath(bin: string): string {
  return join(bin, "start");
}

/** Returns the launcher's text, for any POSIX shell. */
export function launcherText({ home, node, kite, env }: LauncherOptions): string {
  const clean: LauncherOptions["env"] = { ...env, PATH: searchPath(env["PATH"]) };
  const kept = inherited.flatMap(name => (clean[name] ? [shellWord(`${name}=${clean[name]}`)] : []));
  const down = shellWord(join(home, "down"));
  const environment = ["/usr/bin/env -i", ...kept, shellWord(`KITE_HOME=${home}`)].join(" \\\n  ");
  return `#!/bin/sh
# Written by kite install. Starts Kite's daemon for a hook that found none; ends when it answers.
# Not after kite down (which kite looks at too, as often as it must), and not in CI unless KITE_AUTOSTART is 1.
[ -e ${down} ] && exit 0
case "\${CI:-false}" in false | 0) ;; *) [ "\${KITE_AUTOSTART:-}" = 1 ] || exit 0 ;; esac
[ -f ${shellWord(kite)} ] || exit 0
exec ${environment} \\
  ${shellWord(node)} ${shellWord(kite)} up --unless-down </dev/null >/dev/null 2>&1
`;
}

export function mcpPath(bin: string): string {
  return join(bin, "mcp");
}

/** Returns the program that starts Kite's tools. Its steps use `exec`, so its parent stays the agent's client. */
function mcpText({ home, node, kite }: Omit<LauncherOptions, "env">): string {
  return `#!/bin/sh
# Written by kite install. Kite's tools for agents, over standard input and output.
if [ ! -f ${shellWord(kite)} ]; then
  echo "kite: its program was moved away; run kite install again" >&2
  exit 1
fi
exec /usr/bin/env -u NODE_OPTIONS -u NODE_EXTRA_CA_CERTS ${shellWord(`KITE_HOME=${home}`)} \\
  ${shellWord(node)} ${shellWord(kite)} mcp
`;
}

/** The files that the client's settings name; the names stay the same for every version of Kite, Node or perl. */
export interface Program {
  readonly cjs: string;
  readonly pl: string;
  readonly node: string;
  /** A shell that reads it becomes the chosen client; for entries that name no path of one machine. */
  readonly portable: string;
  /** The client's status line. */
  readonly statusLine: string;
}

/** The texts of the scripts that run the chosen hook client. */
interface ProgramScripts {
  readonly portable: string;
  readonly statusLine: string;
}

/** The hook clients' file names, in `dist` and in `bin`. */
export const clientFiles = ["hook.cjs", "hook.pl"] as const;

export function programPaths(bin: string): Program {
  return {
    cjs: join(bin, "hook.cjs"),
    pl: join(bin, "hook.pl"),
    node: join(bin, "node"),
    portable: join(bin, "hook"),
    statusLine: join(bin, "statusline"),
  };
}

export interface ProgramOptions {
  readonly paths: Pick<KitePaths, "home" | "bin">;
  /** The folder of the bundles. */
  readonly dist: string;
  readonly node: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly scripts: ProgramScripts;
}

/**
 * Copies both clients from `dist` into `bin`, writes the launcher and points `bin/node` at the present Node. Each step
 * is atomic, so that a hook that starts meanwhile finds the old or the new file. It copies both clients because earlier
 * settings may run the other one. Returns whether a file changed. Throws if another user owns `bin` or its folder.
 */
export function putProgram(options: ProgramOptions): boolean {
  const { paths, dist, node } = options;
  const { bin } = paths;
  mkdirSync(bin, { recursive: true, mode: 0o700 });
  for (const dir of [dirname(bin), bin]) refuseForeign(dir);
  const copied = clientFiles.map(name => putCopy(readFileSync(join(dist, name)), join(bin, name)));
  const { portable, statusLine } = programPaths(bin);
  copied.push(putCopy(Buffer.from(options.scripts.portable), portable));
  copied.push(putCopy(Buffer.from(options.scripts.statusLine), statusLine));
  copied.push(putLink(node, programPaths(bin).node));
  copied.push(putCopy(Buffer.from(launcherFor(options)), launcherPath(bin)));
  const mcp = mcpText({ home: paths.home, node: programPaths(bin).node, kite: join(dist, "kite.cjs") });
  copied.push(putCopy(Buffer.from(mcp), mcpPath(bin)));
  return copied.includes(true);
}

/** Returns the launcher's text as this Kite writes it. */
export function launcherFor({
  paths: { home, bin },
  dist,
  env,
}: Pick<ProgramOptions, "paths" | "dist" | "env">): string {
  return launcherText({ home, node: programPaths(bin).node, kite: join(dist, "kite.cjs"), env });
}

/** Returns the files that `putProgram` writes. */
export function programFiles(bin: string): readonly string[] {
  return [...Object.values(programPaths(bin)), launcherPath(bin), mcpPath(bin)];
}

/** Removes the files that `putProgram` wrote. */
export function removeProgram(bin: string): void {
  for (const path of programFiles(bin)) rmSync(path, { force: true });
  removeIfEmpty(bin);
}

/** Removes a folder if it is empty. */
export function removeIfEmpty(dir: string): void {
  try {
    rmdirSync(dir);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST", "ENOENT"].some(code => isCode(error, code))) throw error;
  }
}

function refuseForeign(dir: string): void {
  const stat = lstatSync(dir);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.()) {
    throw new InstallFailed(`${dir} is not a folder that you own; choose another KITE_HOME`);
  }
}

function putCopy(bytes: Buffer, to: string): boolean {
  const same = readIfAny(to, limits.settingsBytes)?.equals(bytes) ?? false;
  if (!same) writeWhole(to, bytes, 0o755);
  chmodSync(to, 0o755);
  return !same;
}

function putLink(target: string, path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() && readlinkSync(path) === target)
    return false;
  const fresh = `${path}.${process.pid}.new`;
  rmSync(fresh, { force: true });
  symlinkSync(target, fresh);
  renameSync(fresh, path);
  return true;
}

// The shell scripts of Kite's `bin` folder that run the chosen hook client.

interface ScriptOptions {
  readonly hookProgram: HookProgram;
  /** `KITE_HOME`, if it is set. */
  readonly home: string | null;
}

/** Returns the texts of the scripts. */
export function programScripts(program: Program, { hookProgram, home }: ScriptOptions): ProgramScripts {
  const run = programWords(program, hookProgram, home).map(shellWord).join(" ");
  const line = `${run} ${limits.hookTurnBudgetMs} statusline`;
  return {
    portable: `# Written by kite install. A shell that reads it becomes the hook client.
exec ${run} "$@"
`,
    statusLine: `#!/bin/sh
# Written by kite install. The status line of Claude Code: what the command in $1 prints, if there is one, then Kite's line.
[ $# -eq 0 ] && exec ${line}
input=$(cat)
shown=$(printf '%s\\n' "$input" | /bin/sh -c "$1")
[ -n "$shown" ] && printf '%s\\n' "$shown"
printf '%s\\n' "$input" | ${line}
`,
  };
}

function programWords(program: Program, hookProgram: HookProgram, home: string | null): readonly string[] {
  if (hookProgram === "perl") {
    const { command, args } = perlCommand(program.pl, home, []);
    return [command, ...args];
  }
  const kiteHome = home === null ? [] : [`KITE_HOME=${home}`];
  return [
    "/usr/bin/env",
    "-u",
    "NODE_EXTRA_CA_CERTS",
    "-u",
    "NODE_OPTIONS",
    ...kiteHome,
    program.node,
    program.cjs,
  ];
}

// Tries the perl client before `kite install` chooses it.

const event = { hook_event_name: "SessionStart", session_id: "kite-install", prompt: 'a\n"b" 漢' };
const words = "all is well\n";

/**
 * Runs the perl client once against a fake daemon that answers one event. Returns null if that works, else what went
 * wrong, in a few words. So `install` chooses only a client that works on this machine.
 */
export async function tryPerl(pl: string): Promise<string | null> {
  const home = mkdtempSync(join(tmpdir(), "kite-try-"));
  let hasEvent = false;
  const server = standIn(line => {
    hasEvent = line.includes(JSON.stringify(event));
  });
  try {
    server.listen(join(home, "kite.sock"));
    await once(server, "listening");
    const { code, stdout } = await run(pl, home);
    if (code === 0 && hasEvent && stdout === words) return null;
    if (!hasEvent) return "it did not reach a daemon";
    return `it answered wrongly (exit ${code})`;
  } catch (error) {
    // On any failure `install` uses the other client.
    return errorText(error);
  } finally {
    server.close();
    rmSync(home, { recursive: true, force: true });
  }
}

function standIn(onLine: (line: string) => void): Server {
  return createServer(socket => {
    let text = "";
    socket.on("error", () => socket.destroy());
    socket.on("data", chunk => {
      text += chunk.toString();
      if (!text.includes("\n")) return;
      onLine(text);
      socket.end(`0 ${Buffer.byteLength(words)} 0 0\n${words}`);
    });
  });
}

async function run(
  pl: string,
  home: string,
): Promise<{ readonly code: number | null; readonly stdout: string }> {
  const { command, args } = perlCommand(pl, home, [String(limits.hookStartBudgetMs)]);
  const child = spawn(command, args, {
    env: {},
    stdio: ["pipe", "pipe", "ignore"],
    timeout: limits.hookStartTimeoutMs,
    killSignal: "SIGKILL",
  });
  let stdout = "";
  child.stdout.on("data", chunk => {
    stdout += chunk.toString();
  });
  // If the client ended before it read the event, its answer shows it.
  child.stdin.on("error", () => undefined);
  child.stdin.end(JSON.stringify(event));
  const [code] = await once(child, "close");
  return { code, stdout };
}
