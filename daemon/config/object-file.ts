/** Reads files that hold one JSON object. A file with a problem counts as missing; a sentence names each problem. */
import { errorText, jsonProblem } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { isObject } from "../../protocol/wire.ts";

/** Returns a file's text; null if it is missing or has a problem. */
export async function textOf(
  path: string,
  read: (path: string) => Promise<string | null>,
  problems: string[],
): Promise<string | null> {
  try {
    const text = await read(path);
    if (text === null)
      problems.push(`${path} is ignored: it is no regular file of at most ${limits.smallFileBytes} bytes`);
    return text;
  } catch (error) {
    // A missing file is the usual case. After any other problem the daemon goes on without the file and reports it.
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code !== "ENOENT" && code !== "ENOTDIR") {
      problems.push(`${path} is ignored: ${errorText(error)}`);
    }
    return null;
  }
}

/** Returns the fields of the JSON object that a text holds; none if it holds no object. */
export function objectIn(text: string, path: string, problems: string[]): Map<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return new Map(Object.entries(value));
    problems.push(`${path} is ignored: it must hold one JSON object`);
  } catch (error) {
    // As above: the daemon goes on without the file and reports it.
    problems.push(`${path} is ignored: it is no JSON (${jsonProblem(text) ?? errorText(error)})`);
  }
  return new Map();
}
