import { LocalError } from "../../client/errors.ts";

/** Installing or uninstalling did not happen; the message says why and what to do. Settings are as before. */
export class InstallFailed extends LocalError {
  override readonly name = "InstallFailed";
}

/** The file is not what the client expects, so it is left alone. The message says what is wrong with it. */
export class SettingsRefused extends LocalError {
  override readonly name = "SettingsRefused";
}

/** Runs `work`; what the system refuses it (no permission, no such folder, a full disk) becomes InstallFailed. */
export async function namingFailures<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error && "syscall" in error) throw new InstallFailed(error.message);
    throw error;
  }
}
