// Images as providers take them: plain base64 with the type that the bytes have, whatever was declared.

/** The first bytes of each format, as they look in base64. */
const signatures: readonly (readonly [RegExp, string])[] = [
  [/^iVBORw0KGgo/, 'image/png'],
  [/^\/9j\//, 'image/jpeg'],
  [/^R0lGOD/, 'image/gif'],
  [/^UklGR/, 'image/webp'],
  [/^Qk[0-3]/, 'image/bmp'],
  [/^(SUkqA|TU0AK)/, 'image/tiff'],
  [/^.{5}mdHlwaGVp/, 'image/heic'],
  [/^.{5}mdHlwbWlm/, 'image/heif'],
  [/^.{5}mdHlwYXZpZ/, 'image/avif'],
  [/^(PHN2Z|PD94b|PCFET)/, 'image/svg+xml'],
];

/** Undefined for bytes of no known format. */
export function imageTypeOf(base64: string): string | undefined {
  return signatures.find(([start]) => start.test(base64))?.[1];
}

/** Providers refuse line breaks and the URL-safe alphabet. */
export function standardBase64(data: string): string {
  return /[\s_-]/.test(data) ? data.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/') : data;
}

export function isBase64(data: string): boolean {
  return data.length > 0 && !/[^A-Za-z0-9+/=]/.test(data);
}
