/** Programs that the system's package manager installs for tests, once, where this user may. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const installMs = 600_000;

/** Installs a package of Debian; returns null, or why it could not. */
export async function installPackage(name: string): Promise<string | null> {
  try {
    console.log(`installing ${name} (once)...`);
    const options = { timeout: installMs, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
    await run("apt-get", ["update"], options);
    const wait = ["-o", "DPkg::Lock::Timeout=300"];
    await run("apt-get", [...wait, "install", "-y", "--no-install-recommends", name], options);
    return null;
  } catch (error) {
    const [line = ""] = String(error instanceof Error ? error.message : error).split("\n");
    return line;
  }
}
