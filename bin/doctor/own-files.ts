/** Checks the files that the daemon and the commands read and write: whether each is what it should be, and may be used. */
import { constants, existsSync } from "node:fs";
import { join } from "node:path";
import { readPersonToken } from "../../daemon/instance/socket.ts";
import { fileName, trailFiles } from "../../daemon/trail/line.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";
import { type Advice, advise, fail, restart, warn } from "./advice.ts";
import { damaged, type OddFile, oddFile, oddFolder } from "./odd-file.ts";

const { R_OK, W_OK, X_OK } = constants;

/** A file of Kite whose content no other check looks at, or that another check needs to be one. */
interface OwnFile {
  readonly path: keyof KitePaths;
  readonly folder?: true;
  readonly mode: number;
  /** What does not work without it, behind a comma. */
  readonly so: string;
  /** Nothing that is stored or enforced depends on it. */
  readonly isMinor?: true;
  /** The daemon uses it again after a new start only. */
  readonly restarts?: true;
}

const ownFiles: readonly OwnFile[] = [
  { path: "lockFile", mode: R_OK | W_OK, so: "so no daemon can start", restarts: true },
  {
    path: "daemonFile",
    mode: R_OK,
    so: "so commands do not know which process the daemon is",
    restarts: true,
  },
  { path: "log", mode: W_OK, so: "so the daemon cannot write its log, and does not start", restarts: true },
  { path: "personToken", mode: R_OK, so: "so no command counts as a person's", restarts: true },
  {
    path: "personWindows",
    mode: R_OK | W_OK,
    so: "so Kite asks again in each terminal whether you are a person",
    isMinor: true,
  },
  { path: "storeMark", mode: R_OK, so: "so a start does not notice a journal that is lost" },
  { path: "seen", folder: true, mode: R_OK | W_OK | X_OK, so: "so Kite does not tell who changed its files" },
  {
    path: "presence",
    mode: R_OK,
    so: "so a start of the daemon forgets which turns run",
    isMinor: true,
  },
  {
    path: "events",
    mode: R_OK | W_OK,
    so: "so programs that reconnect miss events of before a restart",
    isMinor: true,
  },
  {
    path: "hookFailures",
    mode: R_OK | W_OK,
    so: "so hooks do not remember that the daemon was silent",
    isMinor: true,
  },
  {
    path: "trail",
    folder: true,
    mode: R_OK | W_OK | X_OK,
    so: "so no decision is recorded",
    restarts: true,
  },
  { path: "plugins", mode: R_OK, so: "so Kite does not know its plugins" },
];

/** `isRunning`: a daemon answers. Returns no check if all is well. */
export async function checkOwnFiles(world: ProcessContext, isRunning: boolean): Promise<Check[]> {
  const { paths } = world;
  const checks = ownFiles.flatMap(file => {
    const odd = (file.folder ? oddFolder : oddFile)(paths[file.path], file.mode);
    return odd === null ? [] : [rowOf(file, odd, isRunning)];
  });
  const isTrailOdd = oddFolder(paths.trail, R_OK | X_OK) !== null;
  const [newest] = isTrailOdd ? [] : await trailFiles(paths.trail);
  const trail = newest === undefined ? null : oddFile(join(paths.trail, fileName(newest)), R_OK | W_OK);
  if (trail !== null) {
    const row = { so: "so decisions are missing in kite log", restarts: true } as const;
    checks.push(rowOf(row, trail, isRunning));
  }
  const token = paths.personToken;
  if (isRunning && oddFile(token) === null && readPersonToken(token) === null) {
    const advice = restart("restart the daemon, which writes it");
    checks.push(fail("files", `${missingOr(token)}, so no command counts as a person's`, advice));
  }
  return checks;
}

/** Returns the sentence's start for a file that Kite cannot read, because it is missing or damaged. */
export function missingOr(path: string): string {
  return oddFile(path)?.what ?? (existsSync(path) ? damaged(path) : `${path} is missing`);
}

function rowOf(
  { so, isMinor, restarts }: Pick<OwnFile, "so" | "isMinor" | "restarts">,
  odd: OddFile,
  isRunning: boolean,
): Check {
  return (isMinor ? warn : fail)(
    "files",
    `${odd.what}, ${so}`,
    adviceFor(odd, restarts === true && isRunning),
  );
}

function adviceFor({ line, advice }: OddFile, restarts: boolean): Advice {
  if (line === null || !restarts) return advice;
  return advise("mend it, and start the daemon again", line, "kite down --yes", "kite up");
}
