import { spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { searchPath } from "../protocol/paths.ts";

/** Returns true if git does not ignore the file; false if git cannot run. */
export function isUnignored(file: string): boolean {
  const env = { ...process.env, PATH: searchPath(process.env["PATH"]) };
  const args = ["-C", dirname(file), "check-ignore", "-q", file];
  return spawnSync("git", args, { stdio: "ignore", env }).status === 1;
}
