import { describe, expect, it } from "vitest";
import { lastingError, NoServer, StoreUnfit } from "../../daemon/store/errors.ts";

/** An error as the server's own client makes it. */
function serverError(code: string, routine: string): Error {
  return Object.assign(new Error(`refused by ${routine}`), { code, routine });
}

describe("a server's refusal", () => {
  it.each([
    ["28P01", "auth_failed", true],
    // LDAP, PAM and RADIUS.
    ["28000", "auth_failed", true],
    // No entry in pg_hba.conf; a role that may not log in.
    ["28000", "ClientAuthentication", false],
    ["28000", "InitializeSessionUserId", false],
    ["3D000", "InitPostgres", false],
    ["42501", "CheckMyDatabase", false],
  ])("%s of %s is of the password: %s", (code, routine, isOfPassword) => {
    const error = serverError(code, routine);
    expect(lastingError(error, "s")).toMatchObject({ isOfPassword });
    const several = new NoServer([
      { server: "a", error: new Error("connect ECONNREFUSED") },
      { server: "b", error },
    ]);
    expect(lastingError(several, "s")).toMatchObject({ isOfPassword });
  });

  it("of a file that has no password is of the password, and one of the encoding is not", () => {
    for (const isOfPassword of [true, false]) {
      const error = new StoreUnfit("unfit", { isOfPassword });
      expect(lastingError(error, "s")).toMatchObject({ isOfPassword });
      expect(lastingError(new NoServer([{ server: "a", error }]), "s")).toMatchObject({ isOfPassword });
    }
  });
});
