// A price as people read it.
import type { Price } from './types.ts';

const amountFormat = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });

export function isPaid(price: Price | undefined): price is Price {
  return price !== undefined && [price.perCall, price.perMinute, price.perToken].some((part) => (part ?? 0) > 0);
}

export function priceText(price: Price | undefined): string {
  if (!price) return 'no price given';
  const parts = [
    [price.perCall, 'a call'],
    [price.perMinute, 'a minute'],
    [price.perToken, 'a token'],
  ] as const;
  const said = parts.flatMap(([amount, what]) => (amount ? [`${amountText(amount, price.currency)} ${what}`] : []));
  return said.join(', ') || 'free';
}

export function amountText(amount: number, currency = 'USD'): string {
  return `${currency === 'USD' ? '$' : `${currency} `}${amountFormat.format(amount)}`;
}
