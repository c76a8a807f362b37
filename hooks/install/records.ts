/** The records of installs, which `kite uninstall` undoes: a list in a JSON file. */
import { limits } from "../../protocol/limits.ts";
import { isObject } from "../../protocol/wire.ts";
import { InstallFailed } from "./failed.ts";
import { writeWhole } from "./file.ts";
import { readIfAny } from "./read-file.ts";

/** Returns the list named `field`; empty without a file. Throws if unreadable: a guess would leave entries behind. */
export function readRecords<T>(
  path: string,
  field: string,
  isRecord: (value: unknown) => value is T,
): readonly T[] {
  const bytes = readIfAny(path, limits.settingsBytes);
  if (bytes === null) return [];
  try {
    const whole: unknown = JSON.parse(bytes.toString("utf8"));
    const list = isObject(whole) ? whole[field] : null;
    if (Array.isArray(list) && list.every(isRecord)) return list;
  } catch {
    // The error below covers this case and any other unknown content.
  }
  throw new InstallFailed(`${path} cannot be read; move it away, then uninstall by project`);
}

export function writeRecords(path: string, field: string, list: readonly unknown[]): void {
  writeWhole(path, `${JSON.stringify({ version: 1, [field]: list }, null, 2)}\n`, 0o600);
}

export function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}
