import { execFileSync } from "node:child_process";

/** The end-to-end tests run the built programs; a build that is up to date costs nothing. */
export default function buildOnce(): void {
  execFileSync(process.execPath, ["bin/build.mjs"], { stdio: "inherit" });
}
