import { spawnSync } from "node:child_process";
import { dirname } from "node:path";

/** Whether git would take the file into a commit; false where it cannot be asked. */
export function isUnignored(file: string): boolean {
  return (
    spawnSync("git", ["-C", dirname(file), "check-ignore", "-q", file], { stdio: "ignore" }).status === 1
  );
}
