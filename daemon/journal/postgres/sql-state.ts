/** Reads what PostgreSQL says of an error. */

/** The five characters that name a server's error, or null: the error is the connection's or the program's. */
export function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  const { code } = error;
  // Errors of Node have codes, too: longer ones, as ECONNRESET, or ERR_...
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** The first line of an error's message, or its code: an error of several tries to connect has no message. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const [line = ""] = error.message.split("\n");
  return line !== "" ? line : "code" in error ? String(error.code) : error.name;
}
