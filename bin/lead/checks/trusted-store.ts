/** Reads and writes `trusted.json`; daemon/lead/checks/trusted-file.ts says what it holds. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { changeSeen } from "../../../daemon/config/off-switch.ts";
import {
  parseTrusted,
  projectFile,
  type TrustedFiles,
  type TrustedText,
  trustedText,
} from "../../../daemon/lead/settings.ts";
import { InstallFailed, readText, whileLocked, writeWhole } from "../../../hooks/install/file.ts";
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";

/** Returns what is trusted. Throws InstallFailed if Kite did not write the file so. */
export function readTrusted(path: string): TrustedFiles {
  const text = readText(path, limits.trustedBytes);
  const files = text === null ? new Map<string, TrustedText>() : parseTrusted(text);
  if (files === null) throw new InstallFailed(`${path} is not as Kite writes it; remove it, then try again`);
  return files;
}

/** Returns the programs of a project's git configuration that a person trusted. */
export function trustedPrograms(path: string, project: string): ReadonlyMap<string, string> {
  return readTrusted(path).get(projectFile(project))?.programs ?? new Map();
}

/** Sets what is trusted of a project's file; null: nothing. Returns whether something was. Throws InstallFailed. */
export async function setTrusted(paths: KitePaths, file: string, text: TrustedText | null): Promise<boolean> {
  const { trusted: path } = paths;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return whileLocked(path, () => {
    const before = readTrusted(path);
    const was = before.has(file);
    if (text === null && !was) return false;
    const files = changed(before, file, text);
    const whole = textWithin(files);
    if (files.size > limits.trustedFilesMax || Buffer.byteLength(whole) > limits.trustedBytes) {
      throw new InstallFailed(
        `${path} has room for no further project; drop one: kite check --trust --list, kite check --trust --revoke DIR`,
      );
    }
    writeWhole(path, whole, 0o600);
    changeSeen(paths, "trusted", copy =>
      textWithin(changed(copy === null ? new Map() : (parseTrusted(copy) ?? before), file, text)),
    );
    return was;
  });
}

function changed(before: TrustedFiles, file: string, text: TrustedText | null): TrustedFiles {
  const files = new Map(before);
  files.delete(file);
  if (text !== null) files.set(file, text);
  return files;
}

/** The checks themselves are kept only to show what changed: they are left out if they need too much room. */
function textWithin(files: TrustedFiles): string {
  const long = trustedText(files, false);
  return Buffer.byteLength(long) > limits.trustedBytes ? trustedText(files, true) : long;
}
