//! Days since 1970-01-01 as dates of the Gregorian calendar, and back (Howard Hinnant,
//! "chrono-compatible low-level date algorithms"). A year begins in March here, so that the leap
//! day is its last.

const DAYS_OF_ERA: i64 = 146_097;
const YEARS_OF_ERA: i64 = 400;
/// From 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// Year, month and day.
pub(crate) fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + EPOCH;
    let (era, day) = (shifted.div_euclid(DAYS_OF_ERA), shifted.rem_euclid(DAYS_OF_ERA));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year + era * YEARS_OF_ERA + i64::from(month <= 2);
    (year, month, of_year - (153 * shifted_month + 2) / 5 + 1)
}

/// Days of a date.
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(YEARS_OF_ERA), year.rem_euclid(YEARS_OF_ERA));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * DAYS_OF_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_other_s_inverse() {
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(date_of(11_016), (2000, 2, 29));
        assert_eq!(date_of(-25_567), (1900, 1, 1));
        let step = if cfg!(miri) { 9973 } else { 1 };
        for days in (-30_000..130_000).step_by(step) {
            let (year, month, day) = date_of(days);
            assert_eq!(days_of(year, month, day), days);
        }
    }
}
