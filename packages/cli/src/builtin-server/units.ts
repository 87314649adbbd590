// Converts values between units of the same dimension.
import { formatNumber } from './calculator.ts';

/** base unit = value * factor + offset */
type Unit = { name: string; dimension: string; factor: number; offset: number };
export type ConvertedUnits = { value: number; fromUnit: string; toUnit: string };

// one unit per line: name, factor to the base unit, other spellings, and for temperatures an offset
type Row = [name: string, factor: number, spellings: string, offset?: number];
const TABLE: Record<string, Row[]> = {
  length: [
    ['meter', 1, 'm'],
    ['nanometer', 1e-9, 'nm'],
    ['micrometer', 1e-6, 'µm um micron'],
    ['millimeter', 1e-3, 'mm'],
    ['centimeter', 1e-2, 'cm'],
    ['kilometer', 1e3, 'km'],
    ['inch', 0.0254, 'in inches "'],
    ['foot', 0.3048, "ft feet '"],
    ['yard', 0.9144, 'yd yds'],
    ['mile', 1609.344, 'mi'],
    ['nautical mile', 1852, 'nmi'],
    ['light year', 9_460_730_472_580_800, 'ly lightyear'],
  ],
  mass: [
    ['gram', 1e-3, 'g'],
    ['microgram', 1e-9, 'µg ug'],
    ['milligram', 1e-6, 'mg'],
    ['kilogram', 1, 'kg kilo'],
    ['tonne', 1e3, 't metric_ton'],
    ['ounce', 0.028349523125, 'oz'],
    ['pound', 0.45359237, 'lb lbs'],
    ['stone', 6.35029318, 'st'],
    ['short ton', 907.18474, 'us_ton ton'],
    ['long ton', 1016.0469088, 'imperial_ton'],
    ['carat', 2e-4, 'ct'],
  ],
  temperature: [
    ['kelvin', 1, 'K'],
    ['celsius', 1, 'C centigrade', 273.15],
    ['fahrenheit', 5 / 9, 'F', 459.67 * (5 / 9)],
    ['rankine', 5 / 9, 'R'],
  ],
  volume: [
    ['liter', 1, 'l L'],
    ['milliliter', 1e-3, 'ml mL cc'],
    ['centiliter', 1e-2, 'cl cL'],
    ['deciliter', 0.1, 'dl dL'],
    ['cubic meter', 1e3, 'm3'],
    ['cubic centimeter', 1e-3, 'cm3'],
    ['cubic inch', 0.016387064, 'in3 cubic_inches'],
    ['cubic foot', 28.316846592, 'ft3 cubic_feet'],
    ['teaspoon', 0.00492892159375, 'tsp'],
    ['tablespoon', 0.01478676478125, 'tbsp'],
    ['fluid ounce', 0.0295735295625, 'fl_oz floz us_fluid_ounce'],
    ['cup', 0.2365882365, 'us_cup'],
    ['pint', 0.473176473, 'pt us_pint'],
    ['quart', 0.946352946, 'qt us_quart'],
    ['gallon', 3.785411784, 'gal us_gallon'],
    ['imperial pint', 0.56826125, 'uk_pint'],
    ['imperial gallon', 4.54609, 'uk_gallon'],
    ['barrel', 158.987294928, 'bbl oil_barrel'],
  ],
  area: [
    ['square meter', 1, 'm2 sq_m sqm'],
    ['square millimeter', 1e-6, 'mm2'],
    ['square centimeter', 1e-4, 'cm2 sq_cm'],
    ['square kilometer', 1e6, 'km2 sq_km'],
    ['square inch', 0.00064516, 'in2 sq_in square_inches'],
    ['square foot', 0.09290304, 'ft2 sq_ft sqft square_feet'],
    ['square yard', 0.83612736, 'yd2 sq_yd'],
    ['square mile', 2_589_988.110336, 'mi2 sq_mi'],
    ['hectare', 1e4, 'ha'],
    ['acre', 4046.8564224, 'ac'],
  ],
  speed: [
    ['meter per second', 1, 'm/s mps meters_per_second'],
    ['kilometer per hour', 1 / 3.6, 'km/h kmh kph kilometers_per_hour'],
    ['mile per hour', 0.44704, 'mph mi/h miles_per_hour'],
    ['foot per second', 0.3048, 'ft/s fps feet_per_second'],
    ['knot', 1852 / 3600, 'kn kt'],
  ],
  time: [
    ['second', 1, 's sec secs'],
    ['nanosecond', 1e-9, 'ns'],
    ['microsecond', 1e-6, 'µs us'],
    ['millisecond', 1e-3, 'ms'],
    ['minute', 60, 'min mins'],
    ['hour', 3600, 'h hr hrs'],
    ['day', 86_400, 'd'],
    ['week', 604_800, 'wk'],
    ['month', 2_629_800, 'mo'],
    ['year', 31_557_600, 'yr yrs'],
  ],
  data: [
    ['byte', 1, 'B'],
    ['bit', 0.125, 'b'],
    ['kilobit', 125, 'kb kbit Kb'],
    ['megabit', 125e3, 'Mb Mbit'],
    ['gigabit', 125e6, 'Gb Gbit'],
    ['kilobyte', 1e3, 'kB KB'],
    ['megabyte', 1e6, 'MB'],
    ['gigabyte', 1e9, 'GB'],
    ['terabyte', 1e12, 'TB'],
    ['petabyte', 1e15, 'PB'],
    ['kibibyte', 2 ** 10, 'KiB'],
    ['mebibyte', 2 ** 20, 'MiB'],
    ['gibibyte', 2 ** 30, 'GiB'],
    ['tebibyte', 2 ** 40, 'TiB'],
    ['pebibyte', 2 ** 50, 'PiB'],
  ],
  energy: [
    ['joule', 1, 'J'],
    ['kilojoule', 1e3, 'kJ'],
    ['megajoule', 1e6, 'MJ'],
    ['calorie', 4.184, 'cal'],
    ['kilocalorie', 4184, 'kcal Cal food_calorie'],
    ['watt hour', 3600, 'Wh'],
    ['kilowatt hour', 3.6e6, 'kWh'],
    ['megawatt hour', 3.6e9, 'MWh'],
    ['electronvolt', 1.602176634e-19, 'eV'],
    ['british thermal unit', 1055.05585262, 'BTU'],
  ],
  pressure: [
    ['pascal', 1, 'Pa'],
    ['hectopascal', 100, 'hPa'],
    ['kilopascal', 1e3, 'kPa'],
    ['megapascal', 1e6, 'MPa'],
    ['millibar', 100, 'mbar'],
    ['bar', 1e5, ''],
    ['atmosphere', 101_325, 'atm'],
    ['millimeter of mercury', 101_325 / 760, 'mmHg torr'],
    ['inch of mercury', 3386.389, 'inHg'],
    ['pound per square inch', 6894.757293168, 'psi'],
  ],
};

// never guess between milli and mega: mPa is not MPa
const MILLI_OR_MEGA = /^(?:M[mgsl]|Mbar|mPa|mJ|mWh|mB)$/;
const exact = new Map<string, Unit>();
const lowerCase = new Map<string, Unit>();
for (const [dimension, rows] of Object.entries(TABLE)) {
  for (const [name, factor, spellings, offset = 0] of rows) {
    const unit = { name, dimension, factor, offset };
    for (const spelling of [name, ...spellings.split(' ')]) {
      const written = spelling.replaceAll('_', ' ');
      exact.set(written, unit);
      // if only the case differs (Mb, MB), lower case means the unit listed last
      lowerCase.set(written.toLowerCase(), unit);
    }
  }
}

/** US customary volumes and tons; a month is a twelfth of a year of 365.25 days; kB is 1000 bytes, KiB is 1024. */
export function convertUnits({ value, from, to }: { value: number; from: string; to: string }): ConvertedUnits {
  const source = findUnit(from);
  const target = findUnit(to);
  if (!source || !target) {
    const known = source ?? target;
    throw new Error(`Unknown unit "${source ? to : from}". ${known ? unitsOf(known.dimension) : allDimensions()}`);
  }
  if (source.dimension !== target.dimension) {
    throw new Error(
      `Cannot convert ${source.name} (${source.dimension}) to ${target.name} (${target.dimension}). ${unitsOf(source.dimension)}`,
    );
  }
  const base = value * source.factor + source.offset;
  if (source.dimension === 'temperature' && base < -1e-9) {
    throw new Error(`${formatNumber(value)} ${source.name} is below absolute zero.`);
  }
  const result = source === target ? value : (base - target.offset) / target.factor;
  const converted = Number(formatNumber(withoutNoise(result, base)));
  return { value: converted, fromUnit: source.name, toUnit: target.name };
}

/** Temperatures subtract large offsets, which leaves rounding noise around zero. */
function withoutNoise(result: number, base: number): number {
  return Math.abs(result) < Math.abs(base) * 1e-14 ? 0 : result;
}

function findUnit(written: string): Unit | undefined {
  const text = written
    .trim()
    .replace(/²/g, '2')
    .replace(/³/g, '3')
    .replace(/\^/g, '')
    .replace(/μ/g, 'µ')
    .replace(/^(?:degrees?|deg|°)\s*/i, '')
    .replace(/\s+/g, ' ');
  const lower = text
    .toLowerCase()
    .replace(/tre(s?)\b/g, 'ter$1')
    .replace(/(?<=[a-z])-|\.$/g, ' ')
    .trim();
  const singular = lower.replace(/(?:(?<=ch|sh|x)e)?s( |$)/, '$1');
  if (MILLI_OR_MEGA.test(text)) return exact.get(text);
  return exact.get(text) ?? lowerCase.get(lower) ?? lowerCase.get(singular);
}

function unitsOf(dimension: string): string {
  return `Units of ${dimension}: ${TABLE[dimension]?.map(([name, , spellings]) => labelOf(name, spellings)).join(', ')}.`;
}

function labelOf(name: string, spellings: string): string {
  const [short] = spellings.split(' ');
  return short ? `${name} (${short.replaceAll('_', ' ')})` : name;
}

function allDimensions(): string {
  const dimensions = Object.entries(TABLE).map(
    ([name, rows]) =>
      `${name} (${rows
        .slice(0, 3)
        .map(([unit]) => unit)
        .join(', ')}, …)`,
  );
  return `Known dimensions: ${dimensions.join('; ')}.`;
}
