/** Reads the certificates that sign those of a shared store's servers. */
import { limits } from "../../protocol/limits.ts";
import type { StoreAddress } from "./address.ts";
import { readLinkedFile } from "./private-file.ts";
import { refuseStore, type StoreRefusal } from "./refusal.ts";

/** Returns the text of the file that `sslrootcert` names; null: the address names none. */
export function readRootCertificate({
  rootCertificate: path,
}: Pick<StoreAddress, "rootCertificate">): string | null | StoreRefusal {
  if (path === null) return null;
  const found = readLinkedFile(path, limits.rootCertificateBytes, false);
  if (found.is === "absent")
    return refuseStore(
      "store_certificate",
      `${path} does not exist; correct sslrootcert in the store's address`,
    );
  if (found.is === "unfit") return refuseStore("store_certificate", found.error);
  if (/-----BEGIN (?:TRUSTED )?CERTIFICATE-----/.test(found.text)) return found.text;
  return refuseStore(
    "store_certificate",
    `${path} holds no certificate (-----BEGIN CERTIFICATE-----); name another file`,
  );
}
