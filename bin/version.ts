/** This program's version, and the paths of its build. */

import { statSync } from "node:fs";
import { join } from "node:path";
import metadata from "../package.json" with { type: "json" };
import type { KitePaths } from "../protocol/paths.ts";

/** This program's version, as in package.json. */
export const version: string = metadata.version;

/** Returns true if version `a` is strictly older than `b`; a pre-release is older than its release. */
export function isOlder(a: string, b: string): boolean {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let i = 0; i < 3; i++) {
    const difference = (left.numbers[i] ?? 0) - (right.numbers[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  if (left.pre === right.pre) return false;
  if (left.pre === "" || right.pre === "") return right.pre === "";
  return left.pre.localeCompare(right.pre, "en", { numeric: true }) < 0;
}

function partsOf(text: string): { numbers: number[]; pre: string } {
  const [release = "", ...pre] = (text.split("+")[0] ?? "").split("-");
  return { numbers: release.split(".").map(Number), pre: pre.join("-") };
}

/** The folder of all bundles and their chunks: the one that this file is in, or the one beside the sources. */
export const dist = import.meta.filename.endsWith(".ts")
  ? join(import.meta.dirname, "../dist")
  : import.meta.dirname;

/** The program that becomes the daemon. */
export const daemonProgram = join(dist, "daemon.mjs");

/** Returns true if the daemon's program was built after the running daemon started: versions alone do not show that. */
export function isRebuilt({ daemonFile }: KitePaths, program: string = daemonProgram): boolean {
  const began = statSync(daemonFile, { throwIfNoEntry: false });
  const built = statSync(program, { throwIfNoEntry: false });
  return began !== undefined && built !== undefined && built.mtimeMs > began.mtimeMs;
}
