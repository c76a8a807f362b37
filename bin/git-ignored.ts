import { spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { searchPath } from "../protocol/paths.ts";

/** Whether git would take the file into a commit; false where it cannot be asked. */
export function isUnignored(file: string): boolean {
  const env = { ...process.env, PATH: searchPath(process.env["PATH"]) };
  const args = ["-C", dirname(file), "check-ignore", "-q", file];
  return spawnSync("git", args, { stdio: "ignore", env }).status === 1;
}
