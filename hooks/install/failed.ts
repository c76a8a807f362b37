import { LocalError } from "../../client/errors.ts";
import { isSystemError, systemErrorText } from "../../protocol/errors.ts";

/** An install or uninstall failed; the message says why and what to do. Settings are unchanged. */
export class InstallFailed extends LocalError {
  override readonly name = "InstallFailed";
}

/** A settings file has an unexpected form, so Kite does not change it. The message says what is wrong. */
export class SettingsRefused extends LocalError {
  override readonly name = "SettingsRefused";
}

/** Runs `work`; turns errors of the system (no permission, no such folder, a full disk) into InstallFailed. */
export async function namingFailures<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isSystemError(error)) throw new InstallFailed(systemErrorText(error));
    throw error;
  }
}
