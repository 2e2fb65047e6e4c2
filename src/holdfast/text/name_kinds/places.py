"""Names of countries and large cities in English and Spanish, in lower case and without accents.

Names that are also common given names are not listed.
"""

from typing import Final

_COUNTRIES: Final = """
afghanistan, afganistan, albania, algeria, argelia, andorra, angola, argentina, armenia, australia, austria, azerbaijan, bahrain, bangladesh,
belarus, bielorrusia, belgium, belgica, belize, benin, bolivia, bosnia, botswana, brazil, brasil, bulgaria, cambodia, camboya, cameroon,
camerun, canada, chile, china, colombia, congo, costa rica, croatia, croacia, cuba, cyprus, chipre, czechia, chequia, denmark, dinamarca,
dominican republic, republica dominicana, ecuador, egypt, egipto, el salvador, england, inglaterra, eritrea, estonia, ethiopia, etiopia, fiji,
finland, finlandia, france, francia, gabon, gambia, germany, alemania, ghana, greece, grecia, greenland, groenlandia, guatemala, guinea,
haiti, honduras, hungary, hungria, iceland, islandia, india, indonesia, iran, iraq, irak, ireland, irlanda, israel, italy, italia, jamaica,
japan, japon, kazakhstan, kazajistan, kenya, kenia, korea, corea, kosovo, kuwait, laos, latvia, letonia, lebanon, libano, lesotho, liberia,
libya, libia, liechtenstein, lithuania, lituania, luxembourg, luxemburgo, macedonia, madagascar, malawi, malaysia, malasia, mali, malta,
mauritania, mauritius, mexico, moldova, moldavia, monaco, mongolia, montenegro, morocco, marruecos, mozambique, myanmar, namibia, nepal,
netherlands, holland, paises bajos, holanda, new zealand, nueva zelanda, nicaragua, niger, nigeria, norway, noruega, oman, pakistan,
palestine, palestina, panama, paraguay, peru, philippines, filipinas, poland, polonia, portugal, puerto rico, qatar, catar, romania, rumania,
russia, rusia, rwanda, ruanda, saudi arabia, arabia saudita, scotland, escocia, senegal, serbia, singapore, singapur, slovakia, eslovaquia,
slovenia, eslovenia, somalia, south africa, sudafrica, spain, espana, sri lanka, sudan, suriname, sweden, suecia, switzerland, suiza, syria,
siria, taiwan, tanzania, thailand, tailandia, togo, tunisia, tunez, turkey, turquia, turkiye, uganda, ukraine, ucrania, united kingdom,
reino unido, united states, estados unidos, uruguay, uzbekistan, venezuela, vietnam, wales, gales, yemen, zambia, zimbabwe
"""
_CITIES: Final = """
aarhus, abu dhabi, abuya, accra, adelaide, alicante, almaty, almeria, amberes, amman, amsterdam, ankara, antwerp, arequipa, asuncion, athens, atenas,
auckland, badajoz, baghdad, baku, baltimore, bangalore, bangkok, barcelona, bari, barranquilla, basel, basilea, beijing, pekin, beirut,
belem, belfast, belgrade, belgrado, bergen, berlin, bern, berna, bilbao, birmingham, bogota, bologna, bolonia, bordeaux, burdeos, boston,
bratislava, bremen, brisbane, bristol, bruges, brujas, brussels, bruselas, bucharest, bucarest, budapest, buenos aires, burgos, busan, caceres,
cadiz, cairo, el cairo, calgary, cali, cambridge, canberra, cancun, cape town, ciudad del cabo, caracas, cardiff, cartagena, casablanca,
chengdu, chennai, chicago, cochabamba, cologne, colonia, copenhagen, copenhague, cordoba, cork, cracow, krakow, cracovia, curitiba, cusco,
cuzco, dakar, dallas, damascus, damasco, delhi, denver, detroit, dhaka, doha, donostia, dortmund, dresden, dubai, dublin, dubrovnik, durban,
dusseldorf, edinburgh, edimburgo, eindhoven, estambul, frankfurt, fukuoka, gdansk, geneva, ginebra, genoa, ghent, gante, gijon, girona,
glasgow, gothenburg, gotemburgo, granada, graz, grenoble, guadalajara, guayaquil, haarlem, hague, la haya, hamburg, hamburgo, hanoi, havana,
la habana, helsinki, ho chi minh, hong kong, honolulu, houston, huelva, istanbul, jaipur, jakarta, yakarta, jerusalem, jerusalen,
johannesburg, johannesburgo, kabul, karachi, kathmandu, katmandu, kiev, kyiv, kinshasa, kobe, kolkata, kuala lumpur, kyoto, kioto, la paz,
lagos, lahore, las vegas, lausanne, lausana, leeds, leipzig, lille, lima, lisbon, lisboa, liverpool, ljubljana, liubliana, london, londres,
los angeles, luanda, lublin, lugo, luxor, lviv, lyon, madrid, malmo, manaus, manchester, mannheim, maputo, marrakech, marseille, marsella,
medellin, melbourne, mendoza, merida, miami, milan, minneapolis, minsk, monterrey, montevideo, montpellier, montreal, moscow,
moscu, mumbai, munich, murcia, nagoya, nairobi, nantes, naples, napoles, new delhi, new orleans, nueva orleans, new york, nueva york, nice,
niza, nicosia, nuremberg, nottingham, oaxaca, odense, odessa, oporto, osaka, oslo, ottawa, oviedo, oxford, palermo, palma, pamplona, paris,
perth, philadelphia, filadelfia, phoenix, pisa, pittsburgh, portland, porto, porto alegre, prague, praga, pretoria, puebla, queretaro,
quito, rabat, reykjavik, reikiavik, riga, rio de janeiro, riyadh, rome, roma, rosario, rotterdam, rouen, sacramento, saigon, salamanca,
salzburg, salzburgo, san diego, san francisco, san salvador, san sebastian, sao paulo, sapporo, sarajevo, seattle, segovia, seoul, seul,
sevilla, seville, shanghai, sheffield, shenzhen, stavanger, stockholm, estocolmo, strasbourg, estrasburgo, stuttgart, sucre, sydney, taipei,
tallinn, tampere, tashkent, tbilisi, tegucigalpa, tehran, teheran, tel aviv, tenerife, tijuana, tirana, tokyo, tokio, toledo, toronto,
toulouse, trieste, tripoli, tromso, trondheim, tunis, turin, turku, uppsala, utrecht, valladolid, valletta, valparaiso, vancouver, venice,
venecia, verona, vienna, viena, vigo, vilnius, vitoria, warsaw, varsovia, washington, wellington, winnipeg, wroclaw, yerevan, york, zagreb,
zaragoza, zurich
"""
PLACES: Final = frozenset(name for text in (_COUNTRIES, _CITIES) for part in text.split(",") if (name := " ".join(part.split())))
"""Names of countries and large cities, in lower case and without accents."""
