/** `kite doctor --bundle`: a report that a person can send, without content, tokens, and names of people and places. */

import { execFileSync } from "node:child_process";
import { closeSync, constants, fstatSync, openSync, readSync, writeFileSync } from "node:fs";
import { hostname, release, type, userInfo } from "node:os";
import { basename, resolve } from "node:path";
import * as z from "zod";
import { loadConfig } from "../../daemon/config/config.ts";
import { settings } from "../../daemon/config/settings.ts";
import { findProgram } from "../../daemon/facts/programs.ts";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { readTrail } from "../../daemon/trail/read.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { personOnWire } from "../../protocol/names.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { isObject } from "../../protocol/wire.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { projectOf } from "../context/project.ts";
import { trailFlushed } from "../trail/explained.ts";
import { version } from "../version.ts";
import { projectRoot } from "../view/places.ts";
import { cut } from "../view/text.ts";
import { ownSettings } from "./configuration.ts";
import { type DiskUse, diskUse } from "./files.ts";
import { oddFile, oddFolder } from "./odd-files.ts";
import type { Check } from "./results.ts";

// Shortens what tells of a person and their work: the same path and the same name get the same short name throughout.
//
// Invariant: of a path there remain its place below a known folder, Kite's and the system's own names, and the end of a
// file's name. Nothing else of it, and no name that was told, is in a shortened text.

/** Parts of paths that are the same on every machine. */
const plainParts: readonly string[] = [
  ..."bin boot dev etc home lib mnt opt private proc root run sbin srv sys tmp usr var local share Users".split(
    " ",
  ),
  ".claude .claude.json .git .kite settings.json settings.local.json managed-settings.json claude-code".split(
    " ",
  ),
  "log hook.pl hook.cjs hook node start mcp statusline kite claude git perl flock dist kite.cjs daemon.mjs".split(
    " ",
  ),
].flat();

const ending = /^.+?(\.[a-z]{1,5})$/;
/** An absolute path, or one below the home directory, up to a blank, a quotation mark or a mark of punctuation. */
const paths = /(?<![\w.])~?(?:\/[^\s/"'`,;:()<>{}[\]|]+)+\/?/g;
/** Words so long are tokens, hashes or ids. */
const tokens = /[A-Za-z0-9_+=-]{20,}/g;
const quoted = /"[^"]*"|'[^']*'|`[^`]*`/g;
const mails = /[^\s@]+@[^\s@]+/g;

export class Shortener {
  readonly #names = new Map<string, string>();
  /** Whole paths, which a sentence may name with blanks in them. */
  readonly #paths = new Map<string, string>();
  readonly #parts = new Map<string, string>();
  readonly #folders: readonly (readonly [path: string, short: string])[];

  /** `home`: the person's home directory. */
  constructor(kite: KitePaths, home: string) {
    for (const part of [...plainParts, ...Object.values(kite).map(path => basename(path))])
      this.#parts.set(part, part);
    const folders: readonly (readonly [string, string])[] = [
      [kite.home, "KITE"],
      [home, "~"],
    ];
    this.#folders = folders.filter(([path]) => path.length > 1);
  }

  /** Makes a short name for a name; null stays. `kind` begins it: `agent` makes `agent1`. */
  name(name: string | null | undefined, kind: string): string | null {
    if (name === null || name === undefined || name === "") return null;
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const short = `${kind}${[...this.#names.values()].filter(one => one.startsWith(kind)).length + 1}`;
    this.#names.set(name, short);
    return short;
  }

  path(path: string): string {
    const short = this.#shortPath(path);
    if (path.length > 1) this.#paths.set(path, short);
    return short;
  }

  #shortPath(path: string): string {
    const [folder, short] = this.#folders.find(([one]) => path === one || path.startsWith(`${one}/`)) ?? [
      "",
      "",
    ];
    const rest = path.slice(folder.length).split("/");
    return short + rest.map(part => this.#part(part)).join("/");
  }

  /** Shortens the paths and the names in a sentence; quotations and tokens go. */
  text(text: string): string {
    const names = [...this.#names].sort(([a], [b]) => b.length - a.length);
    const named = names.reduce(
      (all, [name, short]) => all.replaceAll(wordOf(name), short),
      this.#inPaths(text),
    );
    return named.replaceAll(mails, "MAIL").replaceAll(quoted, '"..."').replaceAll(tokens, "...");
  }

  #inPaths(text: string): string {
    const known = [...this.#paths].sort(([a], [b]) => b.length - a.length);
    return known
      .reduce((all, [path, short]) => all.replaceAll(path, short), text)
      .replaceAll(paths, path => {
        const end = /[.!?]+$/.exec(path)?.[0] ?? "";
        return this.#shortPath(path.slice(0, path.length - end.length)) + end;
      });
  }

  #part(part: string): string {
    if (part === "" || part === "~" || part === "." || part === "..") return part;
    const known = this.#parts.get(part);
    if (known !== undefined) return known;
    const short = `p${this.#parts.size}${ending.exec(part)?.[1] ?? ""}`;
    this.#parts.set(part, short);
    this.#parts.set(short, short);
    return short;
  }
}

/** The name as a word of its own. */
function wordOf(name: string): RegExp {
  return new RegExp(`(?<![\\w-])${name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\w-])`, "g");
}

/** The parts of a report, as the command names them. */
export const bundleParts = [
  "versions",
  "settings and their sources",
  "doctor's lines",
  "the latest decisions",
  "the end of the log",
  "sizes",
] as const;

/** Returns the file that a report is written to, if the person names none. */
export function bundleFile({ cwd, now }: ProcessContext): string {
  const at = new Date(now()).toISOString().replaceAll(/[-:]|\..*/g, "");
  return resolve(cwd, `kite-report-${at}.json`);
}

/**
 * Writes the report to `file`, which must not exist, for this user alone. Returns its size in bytes. Throws the system's
 * error if it cannot be written.
 */
export async function writeBundle(
  world: ProcessContext,
  checks: readonly Check[],
  file: string,
): Promise<number> {
  const text = `${JSON.stringify(await bundle(world, checks), null, 1)}\n`;
  writeFileSync(file, text, { mode: 0o600, flag: "wx" });
  return Buffer.byteLength(text);
}

async function bundle(world: ProcessContext, checks: readonly Check[]): Promise<object> {
  const { paths, env, cwd } = world;
  const short = new Shortener(paths, env["HOME"] ?? "");
  short.path(cwd);
  for (const name of [userInfo().username, env["USER"], env["LOGNAME"]]) short.name(name, "user");
  short.name(hostname(), "host");
  for (const key of Object.keys(await ownSettings(paths.config)))
    if (!Object.hasOwn(settings, key)) short.name(key, "key");
  // A line of doctor says what is wrong with the trail.
  const isTrailOdd = oddFolder(paths.trail) !== null;
  await trailFlushed(world);
  const lines = isTrailOdd ? [] : await readTrail(paths.trail, { limit: limits.bundleLinesMax });
  // Names are learned before any sentence that may have them.
  const decisions = lines.map(line => decisionOf(line, short));
  return {
    about: "A report of kite doctor. Paths and names are shortened, each to the same short name throughout.",
    at: new Date(world.now()).toISOString(),
    versions: {
      kite: version,
      node: process.versions.node,
      system: `${type()} ${release()} ${process.arch}`,
      git: gitVersion(world),
    },
    checks: checks.map(check => checkOf(check, short)),
    settings: await settingsOf(world, short),
    sizes: sizesOf(diskUse(paths.home), short),
    decisions,
    log: logOf(paths.log, short),
  };
}

function sizesOf({ parts, ...rest }: DiskUse, short: Shortener): DiskUse {
  return {
    ...rest,
    parts: parts.map(([name, size]) => [name === "other files" ? name : short.path(name), size]),
  };
}

function gitVersion({ env }: ProcessContext): string | null {
  const git = findProgram("git", { env });
  if (git === null) return null;
  const output = execFileSync(git.path, ["--version"], { encoding: "utf8", timeout: limits.clientVersionMs });
  return /\d+(?:\.\d+)+/.exec(output)?.[0] ?? null;
}

/** A check of shared values names keys: of them only their number is told. */
function checkOf({ check, result, detail, todo }: Check, short: Shortener): object {
  // A check of the store names servers, users, machines and projects.
  if (check === "store") return { check, result };
  const words = check === "context" ? detail.replace(/:.*/, "") : detail;
  const does = todo === undefined || check === "context" ? {} : { todo: sentence(todo, short) };
  return { check, result, detail: sentence(words, short), ...does };
}

function sentence(text: string, short: Shortener): string {
  return cut(short.text(text), limits.bundleTextChars);
}

/** A value is told if it is one of a few that Kite knows, or a number; others may be anything. */
async function settingsOf(world: ProcessContext, short: Shortener): Promise<object> {
  const { paths, env, cwd } = world;
  const project = await projectOf(cwd);
  const { values, sources, problems } = await loadConfig({
    env,
    paths,
    ...(project.startsWith("/") ? { projectDir: projectRoot(project) } : {}),
  });
  const rows = Object.entries(values).map(([key, value]) => {
    const source = sources[key as keyof typeof sources];
    const isKnown =
      Object.hasOwn(settings, key) && settings[key as keyof typeof settings].schema instanceof z.ZodEnum;
    return [key, { value: toldValue(value, isKnown), source: short.text(source) }] as const;
  });
  return { ...Object.fromEntries(rows), problems: problems.map(problem => sentence(problem, short)) };
}

function toldValue(value: unknown, isKnown: boolean): unknown {
  if (value === null || typeof value === "number" || typeof value === "boolean" || isKnown) return value;
  if (Array.isArray(value)) return `${value.length} entries`;
  return isObject(value) ? `an object with ${Object.keys(value).length} keys` : "a text";
}

/** Tools and git commands are Kite's and the client's own words; the first word of another shell line is not. */
const plainType =
  /^(?:git [a-z-]+|[A-Z][A-Za-z]+|(?:file|task|session|lock|context|message|debate|merge|spawn|agent)_[a-z_]+)$/;

function decisionOf(line: TrailLine, short: Shortener): object {
  const { at, event, decision, rule, code, ms, waitedMs, heldMs, type: kind } = line;
  const isPerson = line.name === personOnWire;
  return {
    at: new Date(at).toISOString(),
    event,
    who: isPerson ? "a person" : short.name(line.name, "agent"),
    id: short.name(line.id, "session"),
    agent: short.name(line.agent, "inner"),
    project: line.project === null ? null : short.path(line.project),
    type: kind === null || plainType.test(kind) ? kind : "other",
    file: line.file === null ? null : short.path(line.file),
    holder: short.name(line.holder, "agent"),
    task: short.name(line.task, "task"),
    ...{ decision, rule, code, ms, waitedMs, heldMs },
  };
}

/** Returns the latest lines of the log: their time, level and sentence. */
function logOf(path: string, short: Shortener): readonly object[] {
  const lines = endOf(path).split("\n").slice(1, -1).slice(-limits.bundleLinesMax);
  return lines.flatMap(line => {
    const entry = parsed(line);
    if (entry === null) return [];
    const { time, level, msg, err } = entry;
    const error =
      isObject(err) && typeof err["message"] === "string" ? { error: sentence(err["message"], short) } : {};
    return [{ time, level, msg: typeof msg === "string" ? sentence(msg, short) : null, ...error }];
  });
}

function parsed(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : null;
  } catch {
    return null; // Torn by a crash.
  }
}

/** Returns a line break and the end of the file; "" if it cannot be read, as a line of doctor says. */
function endOf(path: string): string {
  if (oddFile(path) !== null) return "";
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { size } = fstatSync(file);
      const bytes = Buffer.alloc(Math.min(size, limits.bundleLogBytes));
      const count = readSync(file, bytes, 0, bytes.length, size - bytes.length);
      const text = bytes.toString("utf8", 0, count);
      return size > bytes.length ? text : `\n${text}`;
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return ""; // There is none yet.
  }
}
