/** The last messages of an agent, from the transcript that its client keeps. */
import { type FileHandle, open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { userSettings } from "../../../hooks/claude-code/settings/files.ts";
import { type LastMessage, messagesIn } from "../../../hooks/claude-code/transcripts.ts";
import { isSystemError } from "../../../protocol/errors.ts";
import type { Env } from "../../programs.ts";

/** The end of a transcript that is read, in bytes, and what is shown of it. */
const endBytes = 512 * 1024;
const messagesMax = 10;
/** Folders of the client in which the transcript is looked for. */
const foldersMax = 5_000;

/** Returns the session's last messages, oldest first; null if its client keeps no transcript that can be read. */
export async function lastMessages(env: Env, session: string | null): Promise<readonly LastMessage[] | null> {
  if (session === null || !/^[\w-]+$/.test(session)) return null;
  const projects = join(dirname(userSettings(env)), "projects");
  try {
    for (const folder of (await readdir(projects)).slice(0, foldersMax)) {
      const lines = await endOf(join(projects, folder, `${session}.jsonl`));
      if (lines !== null) return messagesIn(lines, messagesMax);
    }
  } catch (error) {
    // The client was never used by this user, or its folder is closed: what it printed is shown instead.
    if (!isSystemError(error)) throw error;
  }
  return null;
}

async function endOf(path: string): Promise<readonly string[] | null> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return null; // It is in another folder.
  }
  try {
    const { size } = await file.stat();
    const bytes = Buffer.alloc(Math.min(size, endBytes));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString("utf8", 0, bytesRead).split("\n");
  } finally {
    await file.close();
  }
}
