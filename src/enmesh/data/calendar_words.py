"""Names of months, weekdays and parts of the calendar, as columns and cells have them, in seven languages.

>>> month_number("März"), in_english("3. Dezember 2020")
(3, '3. dec 2020')
"""

import re

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
# Of each month the names in English, German, French, Spanish, Italian, Dutch and Portuguese, and their short forms.
_NAMES = """
january januar janvier enero gennaio januari janeiro jan janv ene gen jän jänner
february februar février fevrier febrero febbraio februari fevereiro feb févr fevr fev fév
march märz maerz mars marzo maart março marco mar mär mrz mrt
april avril abril aprile apr avr abr
may mai mayo maggio mei maio mag
june juni juin junio giugno junho jun giu
july juli juillet julio luglio julho jul juil lug
august août aout agosto augustus aug ago
september septembre septiembre settembre setembro sep sept set
october oktober octobre octubre ottobre outubro oct okt ott out
november novembre noviembre novembro nov
december dezember décembre decembre diciembre dicembre dezembro dec dez déc dic
"""
_NUMBERS = {name: i + 1 for i, line in enumerate(_NAMES.strip().splitlines()) for name in line.split()}
NAMED_MONTH = rf"(?:{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})\.?"
_MONTH = re.compile(rf"(?<!\w){NAMED_MONTH}(?!\w)", re.IGNORECASE)

_WEEKDAYS = """
monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag mo di mi do fr sa so
lundi mardi mercredi jeudi vendredi samedi dimanche lun mar mer jeu ven sam dim
lunes martes miércoles miercoles jueves viernes sábado sabado domingo mié mie jue vie sáb sab dom
lunedì lunedi martedì martedi mercoledì mercoledi giovedì giovedi venerdì venerdi domenica gio
maandag dinsdag woensdag donderdag vrijdag zaterdag zondag ma wo vr za zo
segunda terça terca quarta quinta sexta segunda-feira terça-feira quarta-feira quinta-feira sexta-feira
"""
_DAYS = set(_WEEKDAYS.split())
_PARTS = {
    "year": "jahr année annee an año ano anno jaar",
    "month": "monat mois mes mese maand mês",
    "day": "tag jour día dia giorno dag",
    "week": "woche semaine semana settimana weeknr kw kalenderwoche",
    "quarter": "quartal trimestre kwartaal qtr",
    "hour": "stunde heure hora ora uur",
    "weekday": "wochentag jourdelasemaine díadelasemana diadelasemana giornodellasettimana weekdag",
}
_PART_OF = {name: part for part, names in _PARTS.items() for name in names.split()}


def month_number(name: str) -> int | None:
    """Return the number of a month that is named, 1 to 12; None for any other word."""
    return _NUMBERS.get(name.strip().rstrip(".").lower())


def is_weekday(name: str) -> bool:
    """Say whether a word names a day of the week."""
    return name.strip().rstrip(".").lower() in _DAYS


def in_english(text: str) -> str:
    """Return a date with the name of its month as pandas reads it."""
    return _MONTH.sub(lambda found: MONTHS[_NUMBERS[found[0].rstrip(".").lower()] - 1], text)


def part_of_calendar(name: str) -> str:
    """Return what a column name without case, spaces and marks is called in English, where it is a part of a date.

    >>> part_of_calendar("monat"), part_of_calendar("voltage")
    ('month', 'voltage')
    """
    return _PART_OF.get(name, name)
