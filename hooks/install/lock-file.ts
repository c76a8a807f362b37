/** The lock that programs take on a settings file before they write it. */
import { lock } from "proper-lockfile";
import { InstallFailed } from "./failed.ts";
import { isCode } from "./file.ts";

/** Runs `work` under the file's lock, which other programs also take. The file's folder must exist. */
export async function whileLocked<T>(path: string, work: () => T | Promise<T>): Promise<T> {
  let release: () => Promise<void>;
  try {
    release = await lock(path, {
      realpath: false,
      retries: { retries: 120, factor: 1, minTimeout: 100, maxTimeout: 100 },
    });
  } catch (error) {
    if (!isCode(error, "ELOCKED")) throw error;
    throw new InstallFailed(`another program is writing ${path}; try again in a moment`);
  }
  try {
    return await work();
  } finally {
    await release();
  }
}
